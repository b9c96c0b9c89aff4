import createClient from 'openapi-fetch'
import type { paths } from './generated/openapi-typescript.ts'
import type { Client } from './scenario.ts'

/** The client of `openapi-fetch`, with the types of `openapi-typescript`. */
export function openapiFetch(baseUrl: string): Client {
  const client = createClient<paths>({ baseUrl })
  return {
    async logIn(body) {
      const { data } = await client.POST('/token', { body })
      const Authorization = data?.data.token
      client.use({
        onRequest({ request }) {
          if (Authorization !== undefined) request.headers.set('Authorization', Authorization)
        },
      })
    },
    async create(body) {
      const { data, response } = await client.POST('/book', { body })
      return { book: data?.data, tag: response.headers.get('ETag') }
    },
    async list(query) {
      const { data, response } = await client.GET('/books', { params: { query } })
      return { books: data?.data ?? [], link: response.headers.get('Link') }
    },
    async update(id, body, tag) {
      const params = { path: { id }, header: { 'If-Match': tag } }
      const { data, error } = await client.PUT('/book/{id}', { params, body })
      return data?.data ?? error?.message ?? ''
    },
    async import(file) {
      const { data, error } = await client.POST('/books/import', {
        body: await file.text(),
        bodySerializer: (text) => text,
        headers: { 'Content-Type': 'text/csv' },
      })
      return data?.data ?? error?.message ?? ''
    },
    async delete(id) {
      const { data } = await client.DELETE('/book/{id}', { params: { path: { id } } })
      return data?.message
    },
  }
}
