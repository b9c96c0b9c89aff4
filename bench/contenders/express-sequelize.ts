// Express 5 with Sequelize on SQLite, jsonwebtoken and zod.
import express, { type NextFunction, type Request, type Response } from 'express'
import jsonwebtoken from 'jsonwebtoken'
import { DataTypes, Sequelize } from 'sequelize'
import { ZodError, z } from 'zod'
import { envelope, MESSAGES, TOKEN_LIFETIME } from './messages.ts'
import { readSettings } from './settings.ts'

const settings = readSettings(process.env)

const sequelize = new Sequelize({ dialect: 'sqlite', storage: settings.database, logging: false })
const Book = sequelize.define(
  'Book',
  {
    id: { type: DataTypes.INTEGER, primaryKey: true, autoIncrement: true },
    title: { type: DataTypes.TEXT, allowNull: false },
    author: { type: DataTypes.TEXT, allowNull: false },
    year: { type: DataTypes.INTEGER, allowNull: false },
  },
  { tableName: 'books', timestamps: false },
)
// As durable as SQLite's default, and faster.
await sequelize.query('PRAGMA journal_mode = WAL')
await sequelize.query('PRAGMA synchronous = FULL')
if (settings.initialise) await sequelize.sync()

const Login = z.object({ username: z.string(), password: z.string() })
const NewBook = z.object({ title: z.string(), author: z.string(), year: z.int() })
const BookChanges = NewBook.partial()

const app = express()
app.disable('x-powered-by')
app.use(express.json())

function send(response: Response, status: number, message: string, data: unknown): void {
  response.status(status).json(envelope(status, message, data))
}

app.post('/token', (request, response) => {
  const login = Login.safeParse(request.body)
  if (!login.success) return send(response, 400, MESSAGES.invalidPayload, null)
  const { username, password } = login.data
  if (username !== settings.username || password !== settings.password) {
    return send(response, 401, MESSAGES.invalidCredentials, null)
  }
  const token = jsonwebtoken.sign({}, settings.secret, {
    algorithm: 'HS256',
    expiresIn: TOKEN_LIFETIME,
    noTimestamp: true,
  })
  send(response, 200, MESSAGES.tokenGenerated, { token })
})

app.use((request, response, next) => {
  const token = request.headers.authorization
  if (!token) return send(response, 401, MESSAGES.tokenRequired, null)
  try {
    jsonwebtoken.verify(token, settings.secret, { algorithms: ['HS256'] })
  } catch {
    return send(response, 401, MESSAGES.invalidToken, null)
  }
  next()
})

app.post('/book', async (request, response) => {
  const book = await Book.create(NewBook.parse(request.body))
  send(response, 201, MESSAGES.created, book)
})

app.get('/books', async (_request, response) => {
  send(response, 200, MESSAGES.listed, await Book.findAll({ order: ['id'] }))
})

app.get('/book/:id', async (request, response) => {
  const book = await Book.findByPk(request.params.id)
  if (book === null) return send(response, 404, MESSAGES.notFound, null)
  send(response, 200, MESSAGES.retrieved, book)
})

app.put('/book/:id', async (request, response) => {
  const book = await Book.findByPk(request.params.id)
  if (book === null) return send(response, 404, MESSAGES.notFound, null)
  await book.update(BookChanges.parse(request.body))
  send(response, 200, MESSAGES.updated, book)
})

app.delete('/book/:id', async (request, response) => {
  const deleted = await Book.destroy({ where: { id: request.params.id } })
  if (deleted === 0) return send(response, 404, MESSAGES.notFound, null)
  send(response, 200, MESSAGES.deleted, null)
})

app.use((error: unknown, _request: Request, response: Response, next: NextFunction) => {
  if (!(error instanceof ZodError || error instanceof SyntaxError)) return next(error)
  send(response, 400, MESSAGES.invalidInput, null)
})

app.listen(settings.port, settings.host)
