import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { type Agent, request } from 'node:http'

export interface TimedResponse {
  /** 0 if there was no whole response. */
  readonly status: number
  readonly retryAfter: string | undefined
  readonly body: string
  /** From the beginning of the request to the end of the response, in milliseconds. */
  readonly ms: number
}

/** Sends a request, such as `GET /books`, and takes its response. Never throws. */
export function ask(
  url: string,
  agent: Agent,
  line: string,
  authorization: string,
  body = '',
): Promise<TimedResponse> {
  const [method, path] = line.split(' ') as [string, string]
  const begin = performance.now()
  return new Promise((resolve) => {
    const end = (status: number, retryAfter?: string, text = '') =>
      resolve({ status, retryAfter, body: text, ms: performance.now() - begin })
    const headers = { authorization, 'content-length': Buffer.byteLength(body) }
    const asked = request(url + path, { agent, method, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      response
        .once('error', () => {})
        .once('close', () => {
          if (response.complete) end(response.statusCode ?? 0, response.headers['retry-after'], text)
          else end(0)
        })
    })
    asked.once('error', () => end(0)).end(body)
  })
}

/** @param share from 0 to 1. @returns NaN of nothing. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}

/**
 * The local ports from which a process is connected to this port by IPv4: until it closes what the other side has
 * closed. Linux only.
 */
export function portsTo(port: number, pid: number): Set<string> {
  const files = readdirSync(`/proc/${pid}/fd`).map((file) => linkOf(`/proc/${pid}/fd/${file}`))
  const remote = new RegExp(`:${port.toString(16).padStart(4, '0').toUpperCase()}$`)
  const lines = readFileSync('/proc/net/tcp', 'utf8').trimEnd().split('\n').slice(1)
  const sockets = lines.map((line) => line.trim().split(/\s+/))
  return new Set(
    sockets.flatMap(([, local = '', to = '', ...rest]) =>
      remote.test(to) && files.includes(`socket:[${rest[6]}]`) ? [local] : [],
    ),
  )
}

/** What is closed meanwhile leads nowhere. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}
