import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readdirSync } from 'node:fs'
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
/** How many writes each commit had. */
export let commits: number[]
/** What the operator was told. */
export let reports: string[]

const note = (worker: Worker) => {
  thread = worker
  threads++
}

const COMMITS = 'book-catalogue.group-commit'
const noteCommit = (writes: unknown) => void commits.push(Number(writes))

/** To be called in a file: gives each of its tests a store on a new file, whose writer thread is at work. */
export function useWriter(): void {
  beforeEach(async () => {
    threads = 0
    reports = []
    commits = []
    closed = false
    process.on('worker', note)
    subscribe(COMMITS, noteCommit)
    file = newFile()
    store = await openFile(file.path, (message) => reports.push(message))
    // The thread has begun its work when a write is answered.
    await store.update(1, {})
  })
  afterEach(async () => {
    if (!closed) await store.close()
    process.off('worker', note)
    unsubscribe(COMMITS, noteCommit)
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
