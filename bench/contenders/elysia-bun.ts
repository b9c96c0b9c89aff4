// Elysia on Bun, with Bun's own SQLite, used synchronously with one commit for each write, and Elysia's JWT plugin.
import { Database } from 'bun:sqlite'
import { jwt } from '@elysiajs/jwt'
import { Elysia, t } from 'elysia'
import { envelope, MESSAGES, TOKEN_LIFETIME } from './messages.ts'
import { readSettings } from './settings.ts'

const settings = readSettings(process.env)

const database = new Database(settings.database, { create: true, strict: true })
database.run('PRAGMA journal_mode = WAL')
database.run('PRAGMA synchronous = FULL')
database.run(`CREATE TABLE IF NOT EXISTS books (
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

const newBook = t.Object({ title: t.String(), author: t.String(), year: t.Integer() })
const oneBook = t.Object({ id: t.Numeric() })

new Elysia()
  .use(jwt({ secret: settings.secret, alg: 'HS256', exp: `${TOKEN_LIFETIME}s`, iat: false }))
  .onError(({ code, path, set }) => {
    if (code !== 'VALIDATION' && code !== 'PARSE') return undefined
    set.status = 400
    return envelope(400, path === '/token' ? MESSAGES.invalidPayload : MESSAGES.invalidInput, null)
  })
  .post(
    '/token',
    async ({ body, jwt, status }) => {
      if (body.username !== settings.username || body.password !== settings.password) {
        return status(401, envelope(401, MESSAGES.invalidCredentials, null))
      }
      return envelope(200, MESSAGES.tokenGenerated, { token: await jwt.sign({}) })
    },
    { body: t.Object({ username: t.String(), password: t.String() }) },
  )
  // For the routes that follow.
  .onBeforeHandle(async ({ headers, jwt, status }) => {
    if (!headers.authorization) return status(401, envelope(401, MESSAGES.tokenRequired, null))
    const isValid = await jwt.verify(headers.authorization)
    return isValid ? undefined : status(401, envelope(401, MESSAGES.invalidToken, null))
  })
  .post(
    '/book',
    ({ body: { title, author, year }, status }) =>
      status(201, envelope(201, MESSAGES.created, insert.get(title, author, year))),
    { body: newBook },
  )
  .get('/books', () => envelope(200, MESSAGES.listed, selectAll.all()))
  .get(
    '/book/:id',
    ({ params, status }) => {
      const book = select.get(params.id)
      if (book === null) return status(404, envelope(404, MESSAGES.notFound, null))
      return envelope(200, MESSAGES.retrieved, book)
    },
    { params: oneBook },
  )
  .put(
    '/book/:id',
    ({ params, body: { title = null, author = null, year = null }, status }) => {
      const book = update.get(title, author, year, params.id)
      if (book === null) return status(404, envelope(404, MESSAGES.notFound, null))
      return envelope(200, MESSAGES.updated, book)
    },
    { params: oneBook, body: t.Partial(newBook) },
  )
  .delete(
    '/book/:id',
    ({ params, status }) => {
      if (remove.run(params.id).changes === 0) return status(404, envelope(404, MESSAGES.notFound, null))
      return envelope(200, MESSAGES.deleted, null)
    },
    { params: oneBook },
  )
  .listen({ port: settings.port, hostname: settings.host })
