import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { Agent, type RequestOptions, request } from 'node:https'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { makeCertificates } from '../support/certificates.ts'
import { freePort } from '../support/free-port.ts'
import { runHaproxy } from '../support/haproxy.ts'
import { startNginx } from '../support/nginx.ts'
import { findProgram } from '../support/program.ts'
import { runSpec } from '../support/run-spec.ts'
import { ServerDirectory } from '../support/server-directory.ts'
import { ServerProcess } from '../support/server-process.ts'
import { ACCOUNT } from '../support/service.ts'
import { useService } from '../support/use-service.ts'
import { deployed } from './deployed.ts'

/** In MiB: more than nginx passes on by default. */
const IMPORT_LIMIT = 4

/** What a test's proxy has instead of what its file in `deploy/` has. */
interface Places {
  readonly port: number
  /** `host:port` of the service. */
  readonly upstream: string
  readonly certFile: string
  readonly keyFile: string
  readonly directory: ServerDirectory
}

const PROXIES: Record<string, (file: string, places: Places) => Promise<ServerProcess>> = {
  nginx: (file, { port, upstream, certFile, keyFile, directory }) => {
    const config = deployed('nginx.conf', {
      'listen 443': `listen 127.0.0.1:${port}`,
      '127.0.0.1:8080': upstream,
      '/etc/ssl/books.example.org.pem': certFile,
      '/etc/ssl/books.example.org.key': keyFile,
    })
    return startNginx(file, directory, config)
  },
  caddy: (file, { port, upstream, certFile, keyFile, directory }) => {
    const site = deployed('Caddyfile', { 'reverse_proxy ': `tls ${certFile} ${keyFile}\nreverse_proxy ` })
    // It would take ports that others may have.
    const global = '{\nadmin off\nauto_https disable_redirects\n}\n'
    return ServerProcess.started({
      file,
      args: ['run', '--config', directory.write('Caddyfile', global + site), '--adapter', 'caddyfile'],
      ready: /serving initial configuration/,
      directory,
      env: { SITE: `https://localhost:${port}`, UPSTREAM: upstream, HOME: directory.path },
    })
  },
  haproxy: (file, { port, upstream, certFile, keyFile, directory }) => {
    const both = readFileSync(certFile, 'utf8') + readFileSync(keyFile, 'utf8')
    const config = deployed('haproxy.cfg', {
      'bind :443': `bind 127.0.0.1:${port}`,
      '/etc/haproxy/books.example.org.pem': directory.write('both.pem', both),
      '127.0.0.1:8080': upstream,
    })
    return runHaproxy(file, directory, port, config)
  },
}

for (const [name, start] of Object.entries(PROXIES)) {
  const { file, missing } = findProgram(name)

  describe(`the service behind ${name}`, { skip: missing }, () => {
    const service = useService(undefined, {
      TRUST_PROXY: '127.0.0.1,::1',
      IMPORT_LIMIT: String(IMPORT_LIMIT),
    })
    let url: string
    let certificates: ReturnType<typeof makeCertificates>
    let agent: Agent
    let proxy: ServerProcess | undefined

    before(async () => {
      const directory = new ServerDirectory()
      certificates = makeCertificates(directory)
      const port = await freePort()
      url = `https://localhost:${port}`
      agent = new Agent({ ca: certificates.ca })
      proxy = await start(file, { port, upstream: new URL(service.url).host, directory, ...certificates })
    })
    after(() => proxy?.remove())

    async function send(method: string, path: string, body = '', options: RequestOptions = {}) {
      const headers = { authorization: service.token, ...options.headers }
      const sent = request(url + path, { agent, host: '127.0.0.1', ...options, method, headers }).end(body)
      const [response] = (await once(sent, 'response')) as [IncomingMessage]
      return { status: response.statusCode, text: await text(response) }
    }

    it('keeps the contract', () => runSpec(url, { NODE_EXTRA_CA_CERTS: certificates.caFile }))

    if (name === 'caddy')
      it('closes idle connections before the service does', async () => {
        const [, idle] = /keepalive (\d+)s/.exec(deployed('Caddyfile')) ?? []
        const { headers } = await fetch(`${service.url}/healthz`)
        const [, limit] = /timeout=(\d+)/.exec(headers.get('keep-alive') ?? '') ?? []
        assert.ok(Number(idle) < Number(limit), `${idle} ${limit}`)
      })

    it('takes a log-in of a page from its own origin only', async () => {
      const logIn = (origin: string) =>
        send('POST', '/token', JSON.stringify(ACCOUNT), { headers: { origin, host: new URL(url).host } })
      assert.equal((await logIn(url)).status, 200)
      assert.equal((await logIn('https://elsewhere.example')).status, 403)
    })

    it('takes files up to IMPORT_LIMIT, and refuses larger ones itself', async () => {
      const limit = IMPORT_LIMIT * 2 ** 20
      const row = 'A title,An author,1999\n'
      const csv = `title,author,year\n${row.repeat(limit / row.length - 1)}`.padEnd(limit, '\n')
      const headers = { 'content-type': 'text/csv' }
      assert.match((await send('POST', '/books/import', csv, { headers })).text, /"added":18\d{4},/)
      const refused = await send('POST', '/books/import', 'title,author,year\n', {
        headers: { ...headers, 'content-length': limit + 1 },
      })
      assert.equal(refused.text, '{"status":413,"message":"Request body too large","data":null}')
    })

    it('counts failed log-ins by the address of the client, whatever it claims to be', async () => {
      const fail = (localAddress: string, claim: string) =>
        send('POST', '/token', '{"username":"","password":""}', {
          localAddress,
          headers: { 'x-forwarded-for': claim },
        })
      for (let time = 0; time < 100; time++)
        assert.equal((await fail('127.0.0.2', `192.0.2.${time}`)).status, 401)
      assert.equal((await fail('127.0.0.2', '192.0.2.200')).status, 429)
      assert.equal((await fail('127.0.0.3', '127.0.0.2')).status, 401)
    })
  })
}
