import { ACCOUNT, HOST, SECRET } from '../account.ts'
import { seededBook } from '../books.ts'
import { signToken } from '../token.ts'
import { type Workload, WRITERS } from '../workloads.ts'

/** A request as it goes over the wire, and the status that answers it. */
export interface Request {
  readonly text: string
  readonly status: number
}

export interface RequestOptions {
  readonly workload: Workload
  readonly port: number
  /** Those that are measured; `busy` has others after them. */
  readonly connections: number
  /** Books that are read and changed: those with the ids from 1 to this. */
  readonly books: number
  /** The ids to delete, each once: the first and the last. */
  readonly deletable?: { readonly first: number; readonly last: number }
}

/** How long a token is valid at least, in seconds. */
const TOKEN_LIFETIME = 15 * 60

/** Of so many requests of the workload `mix` one writes. */
const READS_AND_WRITES = 10

/** How many clients there are. */
export function clientsOf({
  workload,
  connections,
}: Pick<RequestOptions, 'workload' | 'connections'>): number {
  return connections + (workload === 'busy' ? WRITERS : 0)
}

/**
 * Makes the requests of a workload.
 * @returns the next request of a connection, or undefined if there is nothing left to do.
 */
export function requestSource(options: RequestOptions): (connection: number) => Request | undefined {
  const { workload, port, connections, books, deletable } = options
  const host = `Host: ${HOST}:${port}\r\n`
  const now = Math.floor(Date.now() / 1000)
  // Every client has a token of its own and keeps it; they differ in their expiry.
  const heads = Array.from({ length: clientsOf(options) }, (_, i) => {
    return `${host}Authorization: ${signToken(SECRET, now + TOKEN_LIFETIME + i)}\r\n`
  })
  const body = (value: object) => {
    const json = JSON.stringify(value)
    return `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(json)}\r\n\r\n${json}`
  }
  const { id: _, ...newBook } = seededBook(1)
  const bookBody = body(newBook)
  const loginText = `POST /token HTTP/1.1\r\n${host}${body(ACCOUNT)}`

  const head = (connection: number) => heads[connection] ?? ''
  const randomId = () => 1 + Math.floor(Math.random() * books)
  const get = (connection: number): Request => {
    return { text: `GET /book/${randomId()} HTTP/1.1\r\n${head(connection)}\r\n`, status: 200 }
  }
  const post = (connection: number): Request => {
    return { text: `POST /book HTTP/1.1\r\n${head(connection)}${bookBody}`, status: 201 }
  }
  const put = (connection: number): Request => {
    const change = body({ year: Math.floor(Math.random() * 2000) })
    return { text: `PUT /book/${randomId()} HTTP/1.1\r\n${head(connection)}${change}`, status: 200 }
  }
  let count = 0
  let nextDeletable = deletable?.first ?? 1

  switch (workload) {
    case 'login':
      return () => ({ text: loginText, status: 200 })
    case 'get':
      return get
    case 'post':
      return post
    case 'put':
      return put
    case 'mix':
      // Every tenth writes, in turn a new book and a change.
      return (connection) => {
        if (++count % READS_AND_WRITES !== 0) return get(connection)
        return count % (2 * READS_AND_WRITES) === 0 ? post(connection) : put(connection)
      }
    case 'busy':
      return (connection) => (connection < connections ? get(connection) : post(connection))
    case 'delete':
      return (connection) => {
        if (nextDeletable > (deletable?.last ?? 0)) return undefined
        return { text: `DELETE /book/${nextDeletable++} HTTP/1.1\r\n${head(connection)}\r\n`, status: 200 }
      }
    case 'list':
      return (connection) => ({ text: `GET /books HTTP/1.1\r\n${head(connection)}\r\n`, status: 200 })
  }
}
