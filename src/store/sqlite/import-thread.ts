/** A thread that writes one import to the file. The threads that answer requests and write for them go on meanwhile. */
import type { Imported } from '../../catalogue/store.ts'
import { makeDurable, openConnection } from './connection.ts'
import { inTemporaryFiles } from './failure.ts'
import { type BookValues, ImportStaging, type StagingOptions } from './import-staging.ts'
import { databasePath, serveRequests } from './worker.ts'

export type ImportRequest =
  /** Comes first. */
  | { readonly options: StagingOptions }
  /** A group of books to stage. */
  | BookValues
  /** If 'skip existing' is answered with 'more', send it again. */
  | { readonly step: 'skip existing' | 'count' | 'store' }
export type ImportAnswer = Imported | 'more' | 'not empty' | undefined

const database = openConnection(databasePath)
makeDurable(database)
let staging: ImportStaging | undefined

function answer(request: ImportRequest): ImportAnswer {
  if ('options' in request) {
    staging = new ImportStaging(database, request.options)
    return
  }
  const staged = staging
  if (staged === undefined) throw new Error('an import has no options')
  if (!('step' in request)) return inTemporaryFiles(() => staged.add(request))
  if (request.step === 'store') return staged.store() ?? 'not empty'
  if (request.step === 'skip existing' && inTemporaryFiles(() => staged.skipExisting())) return 'more'
  return staged.counts()
}

serveRequests({ answer, end: () => database.close() })
