import { once } from 'node:events'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * A proxy that has a service under a path of its own, as nginx does with `location /library/` and a `proxy_pass` that ends
 * with a slash. Everything else is 404.
 * @param prefix such as `/library/`.
 * @param service the URL of the service.
 */
export async function openPrefixProxy(prefix: string, service: string) {
  const server = createServer((incoming, outgoing) => {
    const { url = '', method, headers } = incoming
    if (!url.startsWith(prefix)) return void outgoing.writeHead(404).end()
    const forwarded = request(service + url.slice(prefix.length - 1), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders)
      answer.pipe(outgoing)
    })
    forwarded.once('error', () => outgoing.destroy())
    incoming.pipe(forwarded)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url: origin + prefix, close: () => server.close().closeAllConnections() }
}
