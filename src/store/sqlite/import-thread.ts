/** A thread that writes one import to the file. Meanwhile, requests are answered and other books are written. */
import { parentPort, workerData } from 'node:worker_threads'
import type { Imported } from '../../catalogue/store.ts'
import { Rpc } from '../../threads/rpc.ts'
import { makeDurable, openConnection } from './connection.ts'
import { inTemporaryFiles, storeError } from './errors.ts'
import { type BookValues, importStaging, type StagingOptions } from './import-staging.ts'

export interface ImportStart {
  readonly path: string
  readonly options: StagingOptions
}

export interface ImportFunctions {
  add(books: BookValues): void
  /** @returns whether to call it again. */
  skipExisting(): boolean
  count(): Imported
  /** @throws StoreNotEmpty */
  store(): Imported
  end(): void
}

const { path, options } = workerData as ImportStart
const database = openConnection(path)
makeDurable(database)
let made: ReturnType<typeof importStaging> | undefined
/** Made by the first call, which then gets the error if this fails. */
const staging = () => {
  made ??= importStaging(database, options)
  return made
}

const functions: ImportFunctions = {
  add: (books) => inTemporaryFiles(() => staging().add(books)),
  skipExisting: () => inTemporaryFiles(() => staging().skipExisting()),
  count: () => staging().counts(),
  store: () => staging().store(),
  end: () => database.close(),
}
if (parentPort === null) throw new Error('this file is for a thread')
new Rpc<object>(parentPort, functions, { errorOf: (error) => storeError(error, path) })
