// The floor on PostgreSQL: Node's own HTTP server, and pg with a pool of ten connections and prepared statements. It
// has no login, and checks neither tokens nor bodies. It reads and writes the books as the others do.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Pool } from 'pg'
import { envelope, MESSAGES } from './messages.ts'
import { readSettings } from './settings.ts'

const { port, host, database, initialise } = readSettings(process.env)

const pool = new Pool({ connectionString: database, max: 10 })
if (initialise) {
  await pool.query(`CREATE TABLE IF NOT EXISTS books (
    id serial PRIMARY KEY, title text NOT NULL, author text NOT NULL, year integer NOT NULL)`)
}
const COLUMNS = 'id, title, author, year'
const STATEMENTS = {
  insert: `INSERT INTO books (title, author, year) VALUES ($1, $2, $3) RETURNING ${COLUMNS}`,
  select: `SELECT ${COLUMNS} FROM books WHERE id = $1`,
  selectAll: `SELECT ${COLUMNS} FROM books ORDER BY id`,
  update: `UPDATE books SET title = coalesce($2, title), author = coalesce($3, author), year = coalesce($4, year)
    WHERE id = $1 RETURNING ${COLUMNS}`,
  remove: 'DELETE FROM books WHERE id = $1 RETURNING id',
}

createServer(async (request, response) => {
  const { method, url = '' } = request
  const id = url.slice('/book/'.length)
  if (method === 'POST') {
    const { title, author, year } = await fieldsOf(request)
    const [book] = await rowsOf('insert', title, author, year)
    send(response, 201, MESSAGES.created, book)
  } else if (method === 'PUT') {
    const { title, author, year } = await fieldsOf(request)
    sendOne(response, MESSAGES.updated, await rowsOf('update', id, title, author, year))
  } else if (method === 'DELETE') {
    const [removed] = await rowsOf('remove', id)
    sendOne(response, MESSAGES.deleted, removed ? [null] : [])
  } else if (url === '/books') {
    send(response, 200, MESSAGES.listed, await rowsOf('selectAll'))
  } else {
    sendOne(response, MESSAGES.retrieved, await rowsOf('select', id))
  }
}).listen(port, host)

async function rowsOf(name: keyof typeof STATEMENTS, ...values: unknown[]): Promise<unknown[]> {
  return (await pool.query({ name, text: STATEMENTS[name], values })).rows
}

function fieldsOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  return new Promise((resolve) => {
    let text = ''
    request.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    request.on('end', () => resolve(JSON.parse(text)))
  })
}

function sendOne(response: ServerResponse, message: string, [data]: readonly unknown[]): void {
  if (data === undefined) send(response, 404, MESSAGES.notFound, null)
  else send(response, 200, message, data)
}

function send(response: ServerResponse, status: number, message: string, data: unknown): void {
  const body = Buffer.from(JSON.stringify(envelope(status, message, data)))
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': body.length,
  })
  response.end(body)
}
