// Fastify alone, as its docs show it: JSON schemas for validation and serialisation, @fastify/jwt, and the fastest
// SQLite driver that Node.js has, used synchronously with one commit for each write.
import jwt from '@fastify/jwt'
import Database from 'better-sqlite3'
import fastify from 'fastify'
import { envelope, MESSAGES, TOKEN_LIFETIME } from './messages.ts'
import { readSettings } from './settings.ts'

interface Book {
  id: number
  title: string
  author: string
  year: number
}
type OneBook = { Params: { id: number } }

const settings = readSettings(process.env)
/** FULL waits for the disk at each commit; NORMAL may lose the last ones in a power cut. */
const synchronous = process.env.SYNCHRONOUS === 'NORMAL' ? 'NORMAL' : 'FULL'
const withAuth = process.env.AUTH !== 'none'

const database = new Database(settings.database)
database.pragma('journal_mode = WAL')
database.pragma(`synchronous = ${synchronous}`)
database.exec(`CREATE TABLE IF NOT EXISTS books (
  id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, author TEXT NOT NULL, year INTEGER NOT NULL)`)
const COLUMNS = 'id, title, author, year'
const insert = database.prepare(
  `INSERT INTO books (title, author, year) VALUES (?, ?, ?) RETURNING ${COLUMNS}`,
)
const select = database.prepare(`SELECT ${COLUMNS} FROM books WHERE id = ?`)
const selectAll = database.prepare(`SELECT ${COLUMNS} FROM books ORDER BY id`)
const update = database.prepare(`UPDATE books SET
  title = coalesce(?, title), author = coalesce(?, author), year = coalesce(?, year)
  WHERE id = ? RETURNING ${COLUMNS}`)
const remove = database.prepare('DELETE FROM books WHERE id = ?')

const text = { type: 'string' }
const integer = { type: 'integer' }
const fields = { title: text, author: text, year: integer }
const newBook = { type: 'object', required: ['title', 'author', 'year'], properties: fields }
const changes = { type: 'object', properties: fields }
const book = { type: 'object', properties: { id: integer, ...fields } }
const params = { type: 'object', properties: { id: { type: 'integer' } } }
const login = {
  type: 'object',
  required: ['username', 'password'],
  properties: { username: text, password: text },
}
const enveloped = (data: object) => ({
  type: 'object',
  properties: { status: integer, message: text, data },
})

const app = fastify()
await app.register(jwt, {
  secret: settings.secret,
  sign: { algorithm: 'HS256', expiresIn: TOKEN_LIFETIME, noTimestamp: true },
  verify: { algorithms: ['HS256'], extractToken: (request) => request.headers.authorization },
})

app.setErrorHandler<{ validation?: unknown }>((error, request, reply) => {
  if (error.validation === undefined) throw error
  const message = request.url === '/token' ? MESSAGES.invalidPayload : MESSAGES.invalidInput
  return reply.code(400).send(envelope(400, message, null))
})

app.post<{ Body: { username: string; password: string } }>(
  '/token',
  { schema: { body: login, response: { 200: enveloped({ type: 'object', properties: { token: text } }) } } },
  async (request, reply) => {
    const { username, password } = request.body
    if (username !== settings.username || password !== settings.password) {
      return reply.code(401).send(envelope(401, MESSAGES.invalidCredentials, null))
    }
    return envelope(200, MESSAGES.tokenGenerated, { token: await reply.jwtSign({}) })
  },
)

await app.register(async (books) => {
  if (withAuth) {
    books.addHook('onRequest', async (request, reply) => {
      if (!request.headers.authorization) {
        return reply.code(401).send(envelope(401, MESSAGES.tokenRequired, null))
      }
      try {
        await request.jwtVerify()
      } catch {
        return reply.code(401).send(envelope(401, MESSAGES.invalidToken, null))
      }
    })
  }

  books.post<{ Body: Omit<Book, 'id'> }>(
    '/book',
    { schema: { body: newBook, response: { 201: enveloped(book) } } },
    async ({ body: { title, author, year } }, reply) => {
      reply.code(201)
      return envelope(201, MESSAGES.created, insert.get(title, author, year))
    },
  )

  books.get(
    '/books',
    { schema: { response: { 200: enveloped({ type: 'array', items: book }) } } },
    async () => envelope(200, MESSAGES.listed, selectAll.all()),
  )

  books.get<OneBook>(
    '/book/:id',
    { schema: { params, response: { 200: enveloped(book) } } },
    async (request, reply) => {
      const found = select.get(request.params.id)
      if (found === undefined) return reply.code(404).send(envelope(404, MESSAGES.notFound, null))
      return envelope(200, MESSAGES.retrieved, found)
    },
  )

  books.put<OneBook & { Body: Partial<Book> }>(
    '/book/:id',
    { schema: { params, body: changes, response: { 200: enveloped(book) } } },
    async ({ params, body: { title = null, author = null, year = null } }, reply) => {
      const updated = update.get(title, author, year, params.id)
      if (updated === undefined) return reply.code(404).send(envelope(404, MESSAGES.notFound, null))
      return envelope(200, MESSAGES.updated, updated)
    },
  )

  books.delete<OneBook>(
    '/book/:id',
    { schema: { params, response: { 200: enveloped({ type: 'null' }) } } },
    async (request, reply) => {
      if (remove.run(request.params.id).changes === 0) {
        return reply.code(404).send(envelope(404, MESSAGES.notFound, null))
      }
      return envelope(200, MESSAGES.deleted, null)
    },
  )
})

await app.listen({ port: settings.port, host: settings.host })
