import type { FastifyInstance, RouteGenericInterface } from 'fastify'
import { Login, TokenData } from '../../auth/auth.ts'
import { Book, BookChanges, NewBook } from '../../catalogue/book.ts'
import type { FailureLog } from '../failure-log.ts'
import type { ByteBudget } from '../protocol/byte-budget.ts'
import type { Services } from '../services.ts'
import { createBook, deleteBook, readBook, updateBook } from './books.ts'
import type { Endpoint } from './endpoint-schema.ts'
import { ImportResult, importBooks } from './import-books.ts'
import { listBooks } from './list-books.ts'
import { type LoginSettings, logIn } from './login.ts'
import { BookStatistics, countBooks } from './statistics.ts'

/** Schemas with a name in the OpenAPI document. Endpoints refer to them by their `$id`. */
const NAMED_SCHEMAS = [Book, NewBook, BookChanges, Login, TokenData, ImportResult, BookStatistics]

/** Registers the endpoints in the order of the contract's table (§4). */
export function registerApi(
  app: FastifyInstance,
  services: Services,
  settings: LoginSettings,
  responses: ByteBudget,
  failures: FailureLog,
): void {
  for (const schema of NAMED_SCHEMAS) app.addSchema(schema)

  app.post('/token', logIn(services, settings))
  app.post('/book', ofBooks(createBook(services)))
  app.get('/books', ofBooks(listBooks(services, responses, failures)))
  app.get('/books/statistics', ofBooks(countBooks(services)))
  app.post('/books/import', ofBooks(importBooks(services)))
  app.get('/book/:id', ofBooks(readBook(services)))
  app.put('/book/:id', ofBooks(updateBook(services)))
  app.delete('/book/:id', ofBooks(deleteBook(services)))
}

/** Makes the gate require a token, and wait until the store is open. */
function ofBooks<Parts extends RouteGenericInterface>(endpoint: Endpoint<Parts>): Endpoint<Parts> {
  return { ...endpoint, config: { ...endpoint.config, ofBooks: true } }
}
