/**
 * A thread for one import. It writes to the file while the thread that answers requests, and the one that writes for
 * them, go on. Each message is a group of books, answered with null; or a step, answered with the counts, with
 * 'more' if it is to be asked for again, or with 'not empty'; or null, which ends the thread.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { Imported, ImportOptions } from '../../catalogue/store.ts'
import { makeDurable, openConnection } from './connection.ts'
import { asFailed, type Failed } from './failure.ts'
import { type Fields, Staging } from './import-staging.ts'

export type ImportMessage =
  | Fields
  | { readonly step: 'skip existing' | 'count' }
  | { readonly step: 'store'; readonly options: Omit<ImportOptions, 'signal'> }
export type ImportAnswer = Imported | 'more' | 'not empty' | null | Failed

const database = openConnection(workerData)
makeDurable(database)
let staging: Staging | undefined

function answer(message: ImportMessage): Exclude<ImportAnswer, Failed> {
  staging ??= new Staging(database)
  if ('step' in message) {
    if (message.step === 'store') return staging.store(message.options) ?? 'not empty'
    if (message.step === 'skip existing' && staging.skipExisting()) return 'more'
    return staging.counts()
  }
  staging.add(message)
  return null
}

parentPort?.on('message', (message: ImportMessage | null) => {
  if (message === null) {
    database.close()
    parentPort?.close()
    return
  }
  try {
    parentPort?.postMessage(answer(message))
  } catch (error) {
    parentPort?.postMessage(asFailed(error))
  }
})
