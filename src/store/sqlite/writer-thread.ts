/**
 * The thread that writes: it waits for the disk so that the thread that answers requests never does. Each message
 * is a batch of writes, answered with their outcomes; or 'index', answered when the index has all that was committed
 * before; or 'changed', when another thread has written; or null, which ends the thread.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { makeDurable, openConnection } from './connection.ts'
import { asFailed, type Failed } from './failure.ts'
import { GroupCommit, type Outcome, type Write } from './group-commit.ts'
import { IndexUpkeep } from './index-scheduler.ts'
import { BookIndex } from './search-index.ts'

export type WriterMessage = readonly Write[] | 'index' | 'changed'
export type WriterAnswer = readonly Outcome[] | 'indexed' | Failed

/** Kibibytes of memory for pages, used as needed: a write to a page that is not there has to read it first. */
const PAGE_CACHE = 8 * 1024

const database = openConnection(workerData)
makeDurable(database)
database.exec(`PRAGMA cache_size = -${PAGE_CACHE}`)
const groupCommit = new GroupCommit(database)
const upkeep = new IndexUpkeep(new BookIndex(database))

const answer = (message: WriterAnswer) => parentPort?.postMessage(message)

parentPort?.on('message', (message: WriterMessage | null) => {
  if (message === null) {
    upkeep.stop()
    database.close()
    parentPort?.close()
  } else if (message === 'index') {
    upkeep.bringUpToDate().then(
      () => answer('indexed'),
      (error) => answer(asFailed(error)),
    )
  } else if (message === 'changed') {
    upkeep.noteWrites(0)
  } else {
    answer(groupCommit.commit(message))
    upkeep.noteWrites(message.length)
  }
})
