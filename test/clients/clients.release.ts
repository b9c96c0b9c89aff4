import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { freePort } from '../support/free-port.ts'
import { useService } from '../support/use-service.ts'
import { type Client, useCatalogue } from './scenario.ts'

const DOCUMENT = 'generated/openapi.json'

/** The clients. They can be imported only when the code is generated that they are made of. */
const CLIENTS: Record<string, () => Promise<(url: string) => Client>> = {
  'openapi-fetch': async () => (await import('./openapi-fetch.ts')).openapiFetch,
  '@hey-api/openapi-ts': async () => (await import('./hey-api.ts')).heyApi,
}

const cwd = import.meta.dirname
/** The commands of the packages run on the Node.js of the tests. */
const PATH = [dirname(process.execPath), join(cwd, 'node_modules/.bin'), process.env.PATH].join(':')
const quiet = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
const options = { cwd, env: { ...process.env, ...quiet, PATH } }

/** Runs a command of a package. Its error has what it wrote. */
async function run(file: string, ...args: string[]): Promise<void> {
  await promisify(execFile)(file, args, options)
}

describe('/openapi.json', () => {
  const service = useService(async ({ url }) => {
    const generated = join(cwd, 'generated')
    await rm(generated, { recursive: true, force: true })
    await mkdir(generated)
    await writeFile(join(cwd, DOCUMENT), await (await fetch(`${url}/openapi.json`)).text())
    await run('openapi-typescript', DOCUMENT, '--output', 'generated/openapi-typescript.ts')
    await run('openapi-ts')
  })

  it('has no error that Redocly finds', () => run('redocly', 'lint', '--extends', 'recommended', DOCUMENT))

  it('has no error that Spectral finds', () =>
    run('spectral', 'lint', '--ruleset', 'spectral.yaml', DOCUMENT))

  it('makes clients that strict TypeScript accepts', () => run('tsc', '--project', '.'))

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

    for (const [name, load] of Object.entries(CLIENTS)) {
      it(`with a client that can do everything, made with ${name}`, async () =>
        useCatalogue((await load())(url)))
    }

    it('where the clients do not go', async () => {
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
