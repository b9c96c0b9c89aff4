import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ACCOUNT } from '../support/service.ts'
import { createClient } from './generated/hey-api/client/index.ts'
import {
  createBook,
  deleteBook,
  importBooks,
  listBooks,
  logIn,
  updateBook,
} from './generated/hey-api/sdk.gen.ts'

const EXAMPLES = join(import.meta.dirname, '../../examples/books.csv')

/** Logs in, creates, updates, imports, lists and deletes books of a service that has none, and leaves none. */
export async function useCatalogue(baseUrl: string): Promise<void> {
  let token = ''
  const client = createClient({ baseUrl, auth: () => token })
  const options = { client, throwOnError: true } as const
  token = (await logIn({ ...options, body: ACCOUNT })).data.data.token

  const fields = { title: 'Emoji 📚 are text', author: 'Ōe Kenzaburō', year: -9007199254740991 }
  const created = await createBook({ ...options, body: fields })
  const { id } = created.data.data
  assert.deepEqual(created.data.data, { id, ...fields })

  const headers = { 'If-Match': created.response.headers.get('ETag') ?? '' }
  const update = (year: number) => updateBook({ client, path: { id }, headers, body: { year } })
  assert.deepEqual((await update(1969)).data?.data, { id, ...fields, year: 1969 })
  assert.equal((await update(1970)).error?.message, 'Precondition failed')

  const refused = await importBooks({ client, body: new Blob(['name\r\n']) })
  assert.match(refused.error?.message ?? '', /^Import refused: ./)
  const imported = await importBooks({ ...options, body: new Blob([await readFile(EXAMPLES)]) })
  const { added } = imported.data.data
  assert.ok(added > 100)

  const ids: number[] = []
  for (let after: string | undefined; after !== ''; ) {
    const { data, response } = await listBooks({ ...options, query: { limit: 100, ...(after && { after }) } })
    ids.push(...data.data.map((book) => book.id))
    const [, next = ''] = /^<(.*)>; rel="next"$/.exec(response.headers.get('Link') ?? '') ?? []
    after = new URL(next, baseUrl).searchParams.get('after') ?? ''
  }
  assert.equal(ids.length, added + 1)

  for (const each of ids) {
    const { data } = await deleteBook({ ...options, path: { id: each } })
    assert.equal(data.message, 'Book deleted successfully')
  }
}
