import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ACCOUNT } from '../support/service.ts'

interface NewBook {
  title: string
  author: string
  year: number
}
type Book = NewBook & { id: number }

/** What the scenario does with a generated client. A text is the message of a failure. */
export interface Client {
  /** Later calls have the token. */
  logIn(login: { username: string; password: string }): Promise<void>
  create(book: NewBook): Promise<{ book: Book | undefined; tag: string | null }>
  list(query: { limit: number; after?: string }): Promise<{ books: Book[]; link: string | null }>
  update(id: number, changes: Partial<NewBook>, tag: string): Promise<Book | string>
  import(file: Blob): Promise<{ added: number } | string>
  delete(id: number): Promise<string | undefined>
}

const EXAMPLES = join(import.meta.dirname, '../../examples/books.csv')

/** Logs in, creates, updates, imports, lists and deletes books of a service that has none, and leaves none. */
export async function useCatalogue(client: Client): Promise<void> {
  await client.logIn(ACCOUNT)

  const fields = { title: 'Emoji 📚 are text', author: 'Ōe Kenzaburō', year: -9007199254740991 }
  const { book, tag } = await client.create(fields)
  assert.ok(book && tag)
  const { id } = book
  assert.deepEqual(book, { id, ...fields })

  assert.deepEqual(await client.update(id, { year: 1969 }, tag), { id, ...fields, year: 1969 })
  assert.equal(await client.update(id, { year: 1970 }, tag), 'Precondition failed')

  assert.match(String(await client.import(new Blob(['name\r\n']))), /^Import refused: ./)
  const imported = await client.import(new Blob([await readFile(EXAMPLES)]))
  assert.ok(typeof imported === 'object' && imported.added > 100)

  const books: Book[] = []
  for (let after: string | undefined; ; ) {
    const page = await client.list({ limit: 100, ...(after && { after }) })
    books.push(...page.books)
    if (page.link === null) break
    const [, next = ''] = /^<(.*)>; rel="next"$/.exec(page.link) ?? []
    after = new URL(next, 'http://localhost/books').searchParams.get('after') ?? ''
  }
  assert.equal(books.length, imported.added + 1)

  for (const each of books) assert.equal(await client.delete(each.id), 'Book deleted successfully')
}
