import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What a proxy does beside passing on. */
interface Doings {
  /** Answers a request itself, and returns true. */
  readonly handle?: (...on: Parameters<RequestListener>) => boolean
  /** Changes the header fields of requests. */
  readonly request?: (headers: IncomingHttpHeaders) => void
  /** Changes the header fields of the service's responses. */
  readonly response?: (headers: IncomingHttpHeaders) => void
}

/**
 * A proxy that has a service under a path of its own, as nginx does with `location /library/` and a `proxy_pass` that ends
 * with a slash; also under the path without its slash, as Traefik does with `StripPrefix`. Everything else is 404.
 * @param prefix such as `/library/`.
 * @param service the URL of the service.
 */
export async function openPrefixProxy(prefix: string, service: string, doings: Doings = {}) {
  const server = createServer((incoming, outgoing) => {
    const { url = '', method, headers } = incoming
    if (doings.handle?.(incoming, outgoing)) return
    const isIn = url.startsWith(prefix) || url.split('?', 1)[0] === prefix.slice(0, -1)
    if (!isIn) return void outgoing.writeHead(404).end()
    doings.request?.(headers)
    const forwarded = request(service + url.slice(prefix.length - 1), { method, headers }, (response) => {
      doings.response?.(response.headers)
      outgoing.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(outgoing)
    })
    forwarded.once('error', () => outgoing.destroy())
    incoming.pipe(forwarded)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url: origin + prefix,
    async [Symbol.asyncDispose]() {
      server.close().closeAllConnections()
    },
  }
}
