import { createClient } from './generated/hey-api/client/index.ts'
import {
  createBook,
  deleteBook,
  importBooks,
  listBooks,
  logIn,
  updateBook,
} from './generated/hey-api/sdk.gen.ts'
import type { Client } from './scenario.ts'

/** The client of `@hey-api/openapi-ts`. */
export function heyApi(baseUrl: string): Client {
  let token = ''
  const client = createClient({ baseUrl, auth: () => token })
  return {
    async logIn(body) {
      token = (await logIn({ client, body, throwOnError: true })).data.data.token
    },
    async create(body) {
      const { data, response } = await createBook({ client, body, throwOnError: true })
      return { book: data.data, tag: response.headers.get('ETag') }
    },
    async list(query) {
      const { data, response } = await listBooks({ client, query, throwOnError: true })
      return { books: data.data, link: response.headers.get('Link') }
    },
    async update(id, body, tag) {
      const headers = { 'If-Match': tag }
      const { data, error } = await updateBook({ client, path: { id }, headers, body })
      return data?.data ?? error?.message ?? ''
    },
    async import(file) {
      const { data, error } = await importBooks({ client, body: file })
      return data?.data ?? error?.message ?? ''
    },
    async delete(id) {
      const { data } = await deleteBook({ client, path: { id }, throwOnError: true })
      return data.message
    },
  }
}
