/** The writer thread. It waits for the disk, so that the threads that answer requests never do. */
import type { Book, BookChanges, NewBook } from '../../catalogue/book.ts'
import { CommitQueue } from './commit-queue.ts'
import { makeDurable, openConnection } from './connection.ts'
import { GroupCommit } from './group-commit.ts'
import { IndexScheduler } from './index-scheduler.ts'
import { ensureSchema } from './schema.ts'
import { SearchIndex } from './search-index.ts'
import { countsCommits, path, serve } from './serve.ts'

export interface WriterFunctions {
  /** @returns the id. */
  create(book: NewBook): Promise<number>
  update(id: number, changes: BookChanges, expected: Book | undefined): Promise<Book | undefined>
  delete(id: number, expected: Book | undefined): Promise<boolean>
  /** Is answered when the index has everything that was committed before. */
  index(): Promise<void>
  /** Pauses the commits, so that an import can store its books. None is running when it is answered. */
  pause(): void
  resume(): void
  /**
   * Fails while nothing can be written. A write tells, but only where an earlier one or the disk gives reason to doubt.
   * @param isDoubtful whether the disk does. A probe may be small enough for it where a write was not.
   */
  probe(isDoubtful: boolean): void
}

/** KiB of memory for pages, used as needed. A write to a page that is not there has to read it first. */
const PAGE_CACHE = 8 * 1024

const database = openConnection(path)
makeDurable(database)
database.exec(`PRAGMA cache_size = -${PAGE_CACHE}`)
const groupCommit = new GroupCommit(database)
const scheduler = new IndexScheduler(new SearchIndex(database))
const queue = new CommitQueue(path, (writes) => groupCommit.commit(writes), committed)

function committed(writes: number): void {
  if (countsCommits) parent.call('committed', writes).catch(() => {})
  // After the responses, because the index may take a while.
  setImmediate(() => scheduler.noteWrites(writes))
}

function probe(isDoubtful: boolean): void {
  if (!isDoubtful && queue.refusal === undefined) return
  if (isDoubtful && queue.refusal !== undefined) throw queue.refusal
  ensureSchema(database)
  // Otherwise probes would in time fill the disk with log.
  database.exec('PRAGMA wal_checkpoint(PASSIVE)')
  queue.refusal = undefined
}

function client() {
  let pauses = 0
  const functions: WriterFunctions = {
    async create(book) {
      const written = await queue.add({ kind: 'create', book })
      if (written === undefined) throw new Error('INSERT gave no id')
      return written.id
    },
    update: async (id, changes, expected) =>
      (await queue.add({ kind: 'update', id, changes, expected })) as Book | undefined,
    delete: async (id, expected) => (await queue.add({ kind: 'delete', id, expected })) !== undefined,
    index: () => scheduler.bringUpToDate(),
    pause() {
      pauses++
      queue.pause()
    },
    resume() {
      pauses--
      queue.resume()
      scheduler.noteWrites(0)
    },
    probe,
  }
  const gone = () => {
    while (pauses > 0) functions.resume()
  }
  return { functions, gone }
}

function end(): void {
  scheduler.stop()
  database.close()
}

const parent = serve(client, end)
