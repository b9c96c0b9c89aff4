/** A thread that writes one import to the file. Meanwhile, requests are answered and other books are written. */
import { parentPort, workerData } from 'node:worker_threads'
import { Rpc } from '../../threads/rpc.ts'
import { makeDurable, openAgain, requireFile } from './connection.ts'
import { inTemporaryFiles, storeError } from './errors.ts'
import { type BookValues, importStaging, type StagingOptions } from './import-staging.ts'

export interface ImportStart {
  readonly path: string
  /** The `identityOf` the file. */
  readonly opened: string | undefined
  readonly options: StagingOptions
}

export type ImportFunctions = typeof functions

const { path, opened, options } = workerData as ImportStart
const database = openAgain(path, opened)
makeDurable(database)
let made: ReturnType<typeof importStaging> | undefined
/** Made by the first call, which then gets the error if this fails. */
const staging = () => {
  made ??= importStaging(database, options)
  return made
}

const functions = {
  add: (books: BookValues) => inTemporaryFiles(() => staging().add(books)),
  /** @returns whether to call it again. */
  skipExisting: () => inTemporaryFiles(() => staging().skipExisting()),
  count: () => staging().counts(),
  /** @throws StoreNotEmpty */
  store: () => staging().store(() => requireFile(path, opened)),
  end: () => database.close(),
}
if (parentPort === null) throw new Error('this file is for a thread')
new Rpc<object>(parentPort, functions, { errorOf: (error) => storeError(error, path) })
