/**
 * The thread that writes: it waits for the disk so that the thread that answers requests never does. Each message
 * is a batch of writes, answered with their outcomes; null ends the thread.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { makeDurable, openConnection } from './sqlite-connection.ts'
import { GroupCommit, type Write } from './sqlite-group-commit.ts'

/** Kibibytes of memory for pages, used as needed: a write to a page that is not there has to read it first. */
const PAGE_CACHE = 32 * 1024

const database = openConnection(workerData)
makeDurable(database)
database.exec(`PRAGMA cache_size = -${PAGE_CACHE}`)
const groupCommit = new GroupCommit(database)

parentPort?.on('message', (writes: Write[] | null) => {
  if (writes !== null) return parentPort?.postMessage(groupCommit.commit(writes))
  database.close()
  parentPort?.close()
})
