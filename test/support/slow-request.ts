import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'

/** Begins a login whose body stays one byte short of its end until `finish` is called. */
export function beginRequest(url: string, body: string) {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let text = ''
  socket.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  const length = Buffer.byteLength(body)
  const begun = new Promise<void>((resolve) => {
    const head = `POST /token HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: ${length}\r\n\r\n`
    // The server answers 100 Continue to nobody, but it reads in the order in which things come.
    const isRead = () => fetch(`${url}/healthz`).then(() => setTimeout(100))
    socket.write(head + body.slice(0, -1), () => resolve(isRead()))
  })
  const response = new Promise<string>((resolve, reject) => {
    socket.once('end', () => resolve(text)).once('error', reject)
  })
  return { begun, finish: () => socket.write(body.slice(-1)), response }
}

/** Rejects as soon as no connection is accepted any more. */
export async function connectUntilRefused(url: string): Promise<never> {
  for (;;) {
    // Hardly any work: a request that takes long would be waited for.
    await fetch(`${url}/healthz`)
    await setTimeout(10)
  }
}
