// json-server as a module, with the middleware that its README shows for access control, routes and custom output.
// It keeps all books in memory and writes the whole file at every change, without waiting for the disk.
import { createRequire } from 'node:module'
import type { Request, Response } from 'express'
import jsonwebtoken from 'jsonwebtoken'
import { envelope, MESSAGES, TOKEN_LIFETIME } from './messages.ts'
import { readSettings } from './settings.ts'

const jsonServer = createRequire(import.meta.url)('json-server') as typeof import('json-server')

const settings = readSettings(process.env)
const app = jsonServer.create()
// Without its defaults, a logger and a compressor among them, which the others do not have.
app.use(jsonServer.bodyParser)

app.post('/token', (request: Request, response: Response) => {
  const { username, password } = request.body
  if (username !== settings.username || password !== settings.password) {
    return void response.status(401).jsonp(envelope(401, MESSAGES.invalidCredentials, null))
  }
  const token = jsonwebtoken.sign({}, settings.secret, {
    algorithm: 'HS256',
    expiresIn: TOKEN_LIFETIME,
    noTimestamp: true,
  })
  response.jsonp(envelope(200, MESSAGES.tokenGenerated, { token }))
})

app.use((request, response, next) => {
  const token = request.headers.authorization
  if (!token) return void response.status(401).jsonp(envelope(401, MESSAGES.tokenRequired, null))
  try {
    jsonwebtoken.verify(token, settings.secret, { algorithms: ['HS256'] })
  } catch {
    return void response.status(401).jsonp(envelope(401, MESSAGES.invalidToken, null))
  }
  // Its PUT replaces the book; PATCH changes fields, as the contract's PUT does.
  if (request.method === 'PUT') request.method = 'PATCH'
  next()
})

app.use(jsonServer.rewriter({ '/book': '/books', '/book/:id': '/books/:id' }))

const MESSAGE_OF: Record<string, string> = {
  POST: MESSAGES.created,
  GET: MESSAGES.retrieved,
  PATCH: MESSAGES.updated,
  DELETE: MESSAGES.deleted,
}

const router = jsonServer.router<{ books: object[] }>(settings.database)
const render = (request: Request, response: Response) => {
  const { data } = response.locals
  const status = response.statusCode
  if (status === 404) return void response.jsonp(envelope(status, MESSAGES.notFound, null))
  if (Array.isArray(data)) return void response.jsonp(envelope(status, MESSAGES.listed, data))
  const message = MESSAGE_OF[request.method] ?? ''
  response.jsonp(envelope(status, message, request.method === 'DELETE' ? null : data))
}
app.use(Object.assign(router, { render }))

app.listen(settings.port, settings.host)
