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
  /** Resolves when the index has everything that was committed before. */
  index(): Promise<void>
  /** Pauses commits, so that an import can store its books. When the call resolves, none is running. */
  pause(): void
  resume(): void
  /**
   * Throws while nothing can be written. It writes to find out, but only after a refused write or with a doubtful disk:
   * anybody may ask for it, and a commit costs a flush. With both, it throws at once: there may be room for a probe
   * where there was none for the refused write.
   * @param isDoubtful whether the system says that the disk is full or the file cannot be written.
   */
  probe(isDoubtful: boolean): void
}

/** KiB of page cache, used as needed. A write to a page that is not cached has to read it first. */
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
  // Otherwise the log of many probes would fill the disk.
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
