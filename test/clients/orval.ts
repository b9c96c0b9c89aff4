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
      const answer = await createBook(CreateBookBody.parse(book), { headers })
      return { book: CreateBookResponse.parse(answer.data).data, tag: answer.headers.get('ETag') }
    },
    async list(query) {
      const answer = await listBooks(query, { headers })
      return { books: ListBooksResponse.parse(answer.data).data, link: answer.headers.get('Link') }
    },
    async update(id, changes, tag) {
      const options = { headers: { ...headers, 'If-Match': tag } }
      const answer = await updateBook(id, UpdateBookBody.parse(changes), options)
      return answer.status === 200 ? UpdateBookResponse.parse(answer.data).data : answer.data.message
    },
    async import(file) {
      const answer = await importBooks(file, {}, { headers })
      return answer.status === 200 ? ImportBooksResponse.parse(answer.data).data : answer.data.message
    },
    async delete(id) {
      const answer = await deleteBook(id, { headers })
      return DeleteBookResponse.parse(answer.data).message
    },
  }
}
