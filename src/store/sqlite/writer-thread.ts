/** The writer thread. It waits for the disk, so that the threads that answer requests never do. */
import type { Book, BookChanges, NewBook } from '../../catalogue/book.ts'
import { StoreUnavailable } from '../../catalogue/store.ts'
import { makeDurable, openAgain, requireFile } from './connection.ts'
import { storeError } from './errors.ts'
import { groupCommit, type Write, type WrittenBook } from './group-commit.ts'
import { scheduleIndex } from './index-scheduler.ts'
import { ensureSchema } from './schema.ts'
import { searchIndexOf } from './search-index.ts'
import { countsCommits, opened, path, serve } from './serve.ts'

export type WriterFunctions = ReturnType<typeof client>['functions']

/** KiB of page cache, used as needed. A write to a page that is not cached has to read it first. */
const PAGE_CACHE = 8 * 1024

interface Pending extends PromiseWithResolvers<WrittenBook | undefined> {
  readonly write: Write
}

const database = openAgain(path, opened)
makeDurable(database)
database.exec(`PRAGMA cache_size = -${PAGE_CACHE}`)
const commit = groupCommit(database, () => requireFile(path, opened))
const scheduler = scheduleIndex(searchIndexOf(database))

/** The writes of all clients. Those that arrive during a commit share the next one. */
const waiting: Pending[] = []
let isScheduled = false
/** The number of imports that are storing their books. Nothing is committed meanwhile. */
let pauses = 0
/** The error of the last write, if it failed for a reason other than a lock. */
let refusal: StoreUnavailable | undefined

/** @returns the stored or deleted book, once it is on the disk; undefined if there is none, or not as expected. */
function add(write: Write): Promise<WrittenBook | undefined> {
  const pending = { write, ...Promise.withResolvers<WrittenBook | undefined>() }
  waiting.push(pending)
  commitSoon()
  return pending.promise
}

/** Commits after the other writes of this turn of the event loop have arrived. */
function commitSoon(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(() => {
    isScheduled = false
    if (pauses === 0 && waiting.length > 0) commitAll(waiting.splice(0))
  })
}

function commitAll(batch: readonly Pending[]): void {
  const outcomes = commit(batch.map(({ write }) => write))
  for (const [i, { resolve, reject }] of batch.entries()) {
    const outcome = outcomes[i]
    if (outcome === undefined) reject(new Error('a write was left without an outcome'))
    else if ('error' in outcome) reject(noted(storeError(outcome.error, path)))
    else {
      refusal = undefined
      resolve(outcome.book)
    }
  }
  if (countsCommits) parent.call('committed', batch.length).catch(() => {})
  // After the responses, because the index may take a while.
  setImmediate(() => scheduler.noteWrites(batch.length))
}

function noted(error: unknown): unknown {
  if (error instanceof StoreUnavailable && error.reason !== 'conflict') refusal = error
  return error
}

/**
 * Throws while nothing can be written. It writes to find out, but only after a refused write or with a doubtful disk:
 * anybody may ask for it, and a commit costs a flush. With both, it throws at once: there may be room for a probe where
 * there was none for the refused write.
 * @param isDoubtful whether the system says that the disk is full or the file cannot be written.
 */
function probe(isDoubtful: boolean): void {
  requireFile(path, opened)
  if (!isDoubtful && refusal === undefined) return
  if (isDoubtful && refusal !== undefined) throw refusal
  ensureSchema(database)
  // Otherwise the log of many probes would fill the disk.
  database.exec('PRAGMA wal_checkpoint(PASSIVE)')
  refusal = undefined
}

function client() {
  let pausesOfClient = 0
  const functions = {
    /** @returns the id. */
    async create(book: NewBook): Promise<number> {
      const written = await add({ kind: 'create', book })
      if (written === undefined) throw new Error('INSERT gave no id')
      return written.id
    },
    update: async (id: number, changes: BookChanges, expected: Book | undefined) =>
      (await add({ kind: 'update', id, changes, expected })) as Book | undefined,
    delete: async (id: number, expected: Book | undefined) =>
      (await add({ kind: 'delete', id, expected })) !== undefined,
    /** Resolves when the index has everything that was committed before. */
    index: () => scheduler.bringUpToDate(),
    /** Holds commits back, so that an import can take the write lock without blocking this thread. */
    pause() {
      pausesOfClient++
      pauses++
    },
    resume() {
      // The thread that was paused has died, and this one was started for the call.
      if (pausesOfClient === 0) return
      pausesOfClient--
      pauses--
      commitSoon()
      scheduler.noteWrites(0)
    },
    probe,
  }
  const gone = () => {
    while (pausesOfClient > 0) functions.resume()
  }
  return { functions, gone }
}

function end(): void {
  scheduler.stop()
  database.close()
}

const parent = serve(client, end)
