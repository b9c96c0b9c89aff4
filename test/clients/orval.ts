import { createBook, deleteBook, importBooks, listBooks, logIn, updateBook } from './generated/orval-fetch.ts'
import {
  CreateBookBody,
  CreateBookResponse,
  DeleteBookResponse,
  ImportBooksResponse,
  ListBooksResponse,
  LogInBody,
  LogInResponse,
  UpdateBookBody,
  UpdateBookResponse,
} from './generated/orval-zod.ts'
import type { Client } from './scenario.ts'

/** The fetch client of `orval`, with its zod schemas for what is sent and received. */
export function orval(baseUrl: string): Client {
  process.env.SERVICE_URL = baseUrl
  let headers = {}
  return {
    async logIn(login) {
      const { data } = await logIn(LogInBody.parse(login))
      headers = { Authorization: LogInResponse.parse(data).data.token }
    },
    async create(book) {
      const response = await createBook(CreateBookBody.parse(book), { headers })
      return { book: CreateBookResponse.parse(response.data).data, tag: response.headers.get('ETag') }
    },
    async list(query) {
      const response = await listBooks(query, { headers })
      return { books: ListBooksResponse.parse(response.data).data, link: response.headers.get('Link') }
    },
    async update(id, changes, tag) {
      const options = { headers: { ...headers, 'If-Match': tag } }
      const response = await updateBook(id, UpdateBookBody.parse(changes), options)
      return response.status === 200 ? UpdateBookResponse.parse(response.data).data : response.data.message
    },
    async import(file) {
      const response = await importBooks(file, {}, { headers })
      return response.status === 200 ? ImportBooksResponse.parse(response.data).data : response.data.message
    },
    async delete(id) {
      const response = await deleteBook(id, { headers })
      return DeleteBookResponse.parse(response.data).message
    },
  }
}
