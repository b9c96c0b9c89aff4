import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import type { Book } from '../../../src/catalogue/book.ts'
import type { Store } from '../../../src/catalogue/store.ts'
import { openConnection } from '../../../src/store/sqlite/connection.ts'
import { newFile, openFile } from './file.ts'

export let file: ReturnType<typeof newFile>
export let store: Store
let closed: boolean
/** The newest writer thread of this process, and how many there were. */
export let thread: Worker
export let threads: number
/** What the operator was told. */
export let reports: string[]

const note = (worker: Worker) => {
  thread = worker
  threads++
}

/** To be called in a file: gives each of its tests a store on a new file, whose writer thread is at work. */
export function useWriter(): void {
  beforeEach(async () => {
    threads = 0
    reports = []
    closed = false
    process.on('worker', note)
    file = newFile()
    store = await openFile(file.path, (message) => reports.push(message))
    // The thread has begun its work when a write is answered.
    await store.update(1, {})
  })
  afterEach(async () => {
    if (!closed) await store.close()
    process.off('worker', note)
    file[Symbol.dispose]()
  })
}

export const create = (title: string) => store.create({ title, author: 'A', year: 1 })
export const titlesOf = (books: readonly Book[]) => books.map(({ title }) => title).toSorted()
export const numbered = (count: number, prefix = '') =>
  Array.from({ length: count }, (_, i) => `${prefix}${i}`)

/** Another connection that holds the write lock until it is released. */
export function lock(): Disposable {
  // The index may be following the last write.
  const other = openConnection(file.path)
  other.exec('BEGIN IMMEDIATE')
  return { [Symbol.dispose]: () => other.close() }
}

/** Until the writes that were made have been handed to the thread. */
export const handedOver = () => setTimeout(20)

/** Closes the store, after which nothing but the whole database is left. @returns its books. */
export async function booksAfterClose(): Promise<Book[]> {
  closed = true
  await store.close()
  assert.deepEqual(readdirSync(file.directory), ['books.db'])
  using database = new DatabaseSync(file.path, { readOnly: true })
  assert.equal(database.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok')
  return database.prepare('SELECT * FROM books ORDER BY id').all() as unknown as Book[]
}

/** Counts the commits in the write-ahead log (sqlite.org/fileformat2.html §4). */
export function commits(): number {
  const log = readFileSync(`${file.path}-wal`)
  let count = 0
  // A frame that commits has a size of the database.
  for (let at = 32; at < log.length; at += 24 + 4096) if (log.readUInt32BE(at + 4) > 0) count++
  return count
}

/** A reader because of which SQLite does not begin its log anew. */
export function keepLog(): Disposable {
  const other = new DatabaseSync(file.path)
  other.exec('BEGIN; SELECT * FROM books')
  return { [Symbol.dispose]: () => other.close() }
}
