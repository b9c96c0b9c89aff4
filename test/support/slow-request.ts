import { setTimeout } from 'node:timers/promises'
import { head, RawConnection } from './raw-socket.ts'

/** Begins a login whose body stays one byte short of its end until `finish` is called. */
export async function beginRequest(url: string, body: string) {
  const connection = await RawConnection.open(url)
  await connection.send(head('POST /token', `Content-Length: ${body.length}`) + body.slice(0, -1))
  // The server answers 100 Continue to nobody, but it reads in the order in which things come.
  await fetch(`${url}/healthz`)
  await setTimeout(100)
  return { finish: () => connection.send(body.slice(-1)), response: () => connection.rest() }
}

/** Rejects as soon as no connection is accepted any more. */
export async function connectUntilRefused(url: string): Promise<never> {
  for (;;) {
    // Hardly any work: a request that takes long would be waited for.
    await fetch(`${url}/healthz`)
    await setTimeout(10)
  }
}
