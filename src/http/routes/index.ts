import type { FastifyInstance } from 'fastify'
import { type Auth, Login, TokenData } from '../../auth/auth.ts'
import type { LoginLimit } from '../../auth/login-throttle.ts'
import { Book, BookChanges, NewBook } from '../../catalogue/book.ts'
import type { Store } from '../../catalogue/store.ts'
import type { ImportTurns } from '../../files/import-turn.ts'
import type { FailureLog } from '../failure-log.ts'
import type { Cursors } from '../page-cursor.ts'
import type { UnsentAnswers } from '../protocol/unsent-answers.ts'
import { requireToken } from './authentication.ts'
import { createBook, deleteBook, readBook, updateBook } from './books.ts'
import { ImportResult, importBooks } from './import-books.ts'
import { listBooks } from './list-books.ts'
import { type LoginSettings, logIn } from './login.ts'
import { BookStatistics, countBooks } from './statistics.ts'

export interface Services {
  readonly store: Store
  readonly auth: Auth
  readonly loginLimit: LoginLimit
  readonly cursors: Cursors
  readonly importTurns: ImportTurns
  /** The largest file of books that can be imported, in bytes. */
  readonly importLimit: number
}

/** The schemas that the OpenAPI document names. Endpoints refer to them by their `$id`. */
const NAMED_SCHEMAS = [Book, NewBook, BookChanges, Login, TokenData, ImportResult, BookStatistics]

/** The endpoints, in the order of the contract's table (§4). */
export function registerApi(
  app: FastifyInstance,
  { store, auth, loginLimit, cursors, importTurns, importLimit }: Services,
  settings: LoginSettings,
  unsent: UnsentAnswers,
  failures: FailureLog,
): void {
  for (const schema of NAMED_SCHEMAS) app.addSchema(schema)
  const authenticated = requireToken(auth)

  app.post('/token', logIn(auth, loginLimit, settings))
  app.post('/book', createBook(store, authenticated))
  app.get('/books', listBooks(store, cursors, unsent, failures, authenticated))
  app.get('/books/statistics', countBooks(store, authenticated))
  app.post('/books/import', importBooks(store, importTurns, importLimit, authenticated))
  app.get('/book/:id', readBook(store, authenticated))
  app.put('/book/:id', updateBook(store, authenticated))
  app.delete('/book/:id', deleteBook(store, authenticated))
}
