/**
 * The thread that writes: it waits for the disk so that the thread that answers requests never does. Each message
 * is a batch of writes, answered with their outcomes; null ends the thread.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { makeDurable, openConnection } from './sqlite-connection.ts'
import { GroupCommit, type Write } from './sqlite-group-commit.ts'

const database = openConnection(workerData)
makeDurable(database)
const groupCommit = new GroupCommit(database)

parentPort?.on('message', (writes: Write[] | null) => {
  if (writes !== null) return parentPort?.postMessage(groupCommit.commit(writes))
  database.close()
  parentPort?.close()
})
