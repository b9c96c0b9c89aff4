import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { freePort } from '../support/free-port.ts'
import * as npm from '../support/npm.ts'
import { useService } from '../support/use-service.ts'

const DOCUMENT = 'generated/openapi.json'

const cwd = import.meta.dirname
/** The commands of the packages run on the Node.js of the tests. */
const PATH = [dirname(process.execPath), join(cwd, 'node_modules/.bin'), process.env.PATH].join(':')
const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
const options = { cwd, env: { ...process.env, ...quiet, PATH } }

/** Runs a command of a package. */
const run = (file: string, ...args: string[]): void => void npm.run(file, args, options)

describe('/openapi.json', () => {
  const service = useService(async ({ url }) => {
    const generated = join(cwd, 'generated')
    await rm(generated, { recursive: true, force: true })
    await mkdir(generated)
    await writeFile(join(cwd, DOCUMENT), await (await fetch(`${url}/openapi.json`)).text())
    run('openapi-ts')
  })

  it('has no error that Redocly finds', () => run('redocly', 'lint', '--extends', 'recommended', DOCUMENT))

  it('has no error that Spectral finds', () =>
    run('spectral', 'lint', '--ruleset', 'spectral.yaml', DOCUMENT))

  it('makes a client that strict TypeScript accepts', () => run('tsc', '--project', '.'))

  describe('is kept by the service, says a proxy that answers 500 otherwise', () => {
    let proxy: ChildProcess
    let url: string

    before(async () => {
      const port = String(await freePort())
      url = `http://127.0.0.1:${port}`
      const args = ['proxy', DOCUMENT, service.url, '--errors', '--host', '127.0.0.1', '--port', port]
      proxy = spawn('prism', args, { ...options, stdio: ['ignore', 'pipe', 'inherit'] })
      await new Promise((resolve, reject) => {
        proxy.once('exit', () => reject(new Error('Prism has ended')))
        proxy.stdout?.on('data', (text) => String(text).includes('is listening') && resolve(undefined))
      })
    })
    after(async () => {
      if (proxy.kill()) await once(proxy, 'exit')
    })

    it('with a client that can do everything', async () => {
      // It can be imported only when the code is generated that it is made of.
      const { useCatalogue } = await import('./generated-client.ts')
      await useCatalogue(url)
    })

    it('where the client does not go', async () => {
      const headers = { authorization: service.token }
      const id = await service.createBook()
      const tag = (await fetch(`${url}/book/${id}`, { headers })).headers.get('etag') ?? ''
      for (const [path, status, more] of [
        ['/healthz', 200],
        ['/readyz', 200],
        ['/books', 200],
        ['/books?limit=1&count=true&sort=-year&q=t', 200],
        ['/books?after=x', 400],
        ['/books', 401, { authorization: 'x' }],
        ['/books/statistics', 200],
        [`/book/${id}`, 304, { 'if-none-match': tag }],
        [`/book/${id}`, 412, { 'if-match': '"x"' }],
        [`/book/${id + 1}`, 404],
      ] as const) {
        const response = await fetch(url + path, { headers: { ...headers, ...more } })
        assert.equal(response.status, status, `${path}: ${await response.text()}`)
      }
    })
  })
})
