import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { after, before, describe } from 'node:test'
import { makeCertificates } from '../support/certificates.ts'
import { freePort } from '../support/free-port.ts'
import { runHaproxy } from '../support/haproxy.ts'
import { startNginx } from '../support/nginx.ts'
import { findProgram } from '../support/program.ts'
import { ServerDirectory } from '../support/server-directory.ts'
import { ServerProcess } from '../support/server-process.ts'
import { type ServiceInUse, useService } from '../support/use-service.ts'
import { deployed } from './deployed.ts'

/** In MiB: more than nginx passes on by default. */
export const IMPORT_LIMIT = 4

export const COUNTED = '/books?limit=7'

/** What a test's proxy has instead of what its file in `deploy/` has. */
interface Places {
  readonly port: number
  /** `host:port` of the service. */
  readonly upstream: string
  readonly certFile: string
  readonly keyFile: string
  readonly directory: ServerDirectory
}

type Start = (file: string, places: Places) => Promise<{ remove(): Promise<void> }>

const PROXIES: Record<string, Start> = {
  nginx: (file, { port, upstream, certFile, keyFile, directory }) =>
    startNginx(
      file,
      directory,
      deployed('nginx.conf', {
        'listen 443': `listen 127.0.0.1:${port}`,
        '127.0.0.1:8080': upstream,
        '/etc/ssl/books.example.org.pem': certFile,
        '/etc/ssl/books.example.org.key': keyFile,
      }),
    ),
  caddy: async (file, { port, upstream, certFile, keyFile, directory }) => {
    const site = deployed('Caddyfile', { 'reverse_proxy ': `tls ${certFile} ${keyFile}\nreverse_proxy ` })
    // It would take ports that others may have.
    const global = '{\nadmin off\nauto_https disable_redirects\n}\n'
    writeFileSync(directory.join('Caddyfile'), global + site)
    const caddy = new ServerProcess({
      file,
      args: ['run', '--config', directory.join('Caddyfile'), '--adapter', 'caddyfile'],
      ready: /serving initial configuration/,
      directory,
      quit: 'SIGKILL',
      env: { SITE: `https://localhost:${port}`, UPSTREAM: upstream, HOME: directory.path },
    })
    await caddy.start()
    return caddy
  },
  haproxy: async (file, { port, upstream, certFile, keyFile, directory }) => {
    const both = directory.join('both.pem')
    writeFileSync(both, readFileSync(certFile, 'utf8') + readFileSync(keyFile, 'utf8'))
    const config = deployed('haproxy.cfg', {
      'bind :443': `bind 127.0.0.1:${port}`,
      '/etc/haproxy/books.example.org.pem': both,
      '127.0.0.1:8080': upstream,
    })
    directory.give('both.pem')
    return runHaproxy(file, directory, port, config)
  },
}

/** Passes connections on to the service. */
async function openRelay(url: string) {
  const { hostname, port } = new URL(url)
  /** The connections of the test that counts them: HAProxy opens others, to see whether the service is ready. */
  const used = new Set<Socket>()
  const server = createServer((client) => {
    const service = connect(Number(port), hostname)
    client.on('data', (data: Buffer) => data.includes(`GET ${COUNTED} `) && used.add(client))
    for (const [one, other] of [
      [client, service],
      [service, client],
    ] as const)
      one.pipe(other).on('error', () => one.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`
  return { address, used, close: () => server.close() }
}

interface Way {
  readonly service: ServiceInUse
  readonly relay: Awaited<ReturnType<typeof openRelay>>
  /** Of the proxy. */
  readonly url: string
  readonly caFile: string
  readonly agent: Agent
}

/** Tests of a service behind each proxy that is installed, started with its file in `deploy/`. */
export function behindEachProxy(define: (way: () => Way) => void): void {
  for (const [name, start] of Object.entries(PROXIES)) {
    const { file, missing } = findProgram(name)

    describe(`the service behind ${name}`, { skip: missing }, () => {
      const service = useService(undefined, {
        TRUST_PROXY: '127.0.0.1,::1',
        IMPORT_LIMIT: String(IMPORT_LIMIT),
      })
      let way: Way | undefined
      let proxy: Awaited<ReturnType<Start>> | undefined

      before(async () => {
        const directory = new ServerDirectory()
        const certificates = makeCertificates(directory)
        const { ca, caFile } = certificates
        const port = await freePort()
        const relay = await openRelay(service.url)
        const agent = new Agent({ keepAlive: true, ca })
        way = { service, relay, url: `https://localhost:${port}`, caFile, agent }
        proxy = await start(file, { port, upstream: relay.address, directory, ...certificates })
      })
      after(async () => {
        way?.agent.destroy()
        way?.relay.close()
        await proxy?.remove()
      })

      define(() => {
        assert.ok(way !== undefined, 'the proxy does not run')
        return way
      })
    })
  }
}
