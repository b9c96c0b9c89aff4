/** The writer thread. It waits for the disk, so the thread that answers requests never does. */
import { makeDurable, openConnection } from './connection.ts'
import { GroupCommit, type Outcome, type Write } from './group-commit.ts'
import { IndexScheduler } from './index-scheduler.ts'
import { ensureSchema } from './schema.ts'
import { SearchIndex } from './search-index.ts'
import { databasePath, serveRequests } from './worker.ts'

export type WriterRequest =
  /** Writes to commit together; the answer has their outcomes. */
  | readonly Write[]
  /** Answered when the index has everything that was committed before. */
  | 'index'
  /** Another thread has written. */
  | 'changed'
  /** Answered if the file can be written. */
  | 'probe'
export type WriterAnswer = readonly Outcome[] | undefined

/** KiB of memory for pages, used as needed. A write to a page that is not there has to read it first. */
const PAGE_CACHE = 8 * 1024

const database = openConnection(databasePath)
makeDurable(database)
database.exec(`PRAGMA cache_size = -${PAGE_CACHE}`)
const groupCommit = new GroupCommit(database)
const scheduler = new IndexScheduler(new SearchIndex(database))

function answer(request: WriterRequest): WriterAnswer | Promise<undefined> {
  if (request === 'index') return scheduler.bringUpToDate().then(() => undefined)
  if (request === 'probe') {
    ensureSchema(database)
    // Otherwise probes would in time fill the disk with log.
    database.exec('PRAGMA wal_checkpoint(PASSIVE)')
  }
  return typeof request === 'string' ? [] : groupCommit.commit(request)
}

/** After the answer, because the index may take a while. */
function answered(request: WriterRequest): void {
  if (request === 'changed') scheduler.noteWrites(0)
  else if (typeof request !== 'string') scheduler.noteWrites(request.length)
}

function end(): void {
  scheduler.stop()
  database.close()
}

serveRequests({ answer, answered, end })
