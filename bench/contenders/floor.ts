// The floor: Node's own HTTP server, which answers every request with bytes made before. It checks nothing and keeps
// nothing; it only reads bodies to their end. No service on Node.js can be faster.
import { createServer, type ServerResponse } from 'node:http'
import { envelope, MESSAGES } from './messages.ts'
import { readSettings } from './settings.ts'

const { port, host, database } = readSettings(process.env)

/** The bench names the number of books instead of a database. */
const books = Number(database)
const book = (id: number) => ({
  id,
  title: `The Left Hand of Darkness ${id}`,
  author: 'Ursula K. Le Guin',
  year: 1900 + (id % 125),
})

interface Answer {
  readonly status: number
  readonly body: Buffer
}

const answer = (status: number, message: string, data: unknown): Answer => ({
  status,
  body: Buffer.from(JSON.stringify(envelope(status, message, data))),
})
// As long as that of a token with only `exp`.
const login = answer(200, MESSAGES.tokenGenerated, { token: 'x'.repeat(105) })
const list = answer(
  200,
  MESSAGES.listed,
  Array.from({ length: books }, (_, i) => book(i + 1)),
)
const read = answer(200, MESSAGES.retrieved, book(4711))
const created = answer(201, MESSAGES.created, book(4711))
const updated = answer(200, MESSAGES.updated, book(4711))
const deleted = answer(200, MESSAGES.deleted, null)

createServer((request, response) => {
  switch (request.method) {
    case 'POST':
      return void request.resume().on('end', () => send(response, request.url === '/token' ? login : created))
    case 'PUT':
      return void request.resume().on('end', () => send(response, updated))
    case 'DELETE':
      return send(response, deleted)
    default:
      return send(response, request.url === '/books' ? list : read)
  }
}).listen(port, host)

function send(response: ServerResponse, { status, body }: Answer): void {
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
  })
  response.end(body)
}
