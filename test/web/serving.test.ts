import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it, mock } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { transformSync } from 'esbuild'
import type { Store } from '../../src/catalogue/store.ts'
import { readWebFiles } from '../../src/http/web-page/assets.ts'
import { CATALOGUE, DOCS } from '../../src/http/web-page/pages.ts'
import { resources } from '../../src/resources.ts'
import { createTestServer } from '../support/test-server.ts'

const WEB = join(import.meta.dirname, '../../web')

/** What the whole page may weigh, compressed, in bytes; and what the first visit may load of it, in how many requests. */
const BUDGET = 102_000
const FIRST_VISIT = { bytes: 45_000, requests: 22 }

const catalogue = await readWebFiles(CATALOGUE.source)

/** Those of every file, also of what is loaded only when it is needed. */
const paths = [...catalogue.files.keys()].map((name) => `${CATALOGUE.prefix}/${catalogue.version}/${name}`)

it('the paths of the files change with the content of any of them, because browsers keep them for ever', async () => {
  for (const [kind, changed] of [
    ['webFile', 'icon.svg'],
    ['moduleFile', 'catalogue/search-words.js'],
    ['packageFile', 'lit-html/lit-html.js'],
  ] as const) {
    const read = resources[kind]
    const reading = mock.method(resources, kind, async (path: string) => {
      const content = await read(path)
      return path === changed ? content.reverse() : content
    })
    const after = await readWebFiles(CATALOGUE.source)
    reading.mock.restore()
    assert.notEqual(after.version, catalogue.version, changed)
  }
})

describe('the web page', () => {
  const app = createTestServer({ store: {} as Store, opened: () => undefined })
  after(() => app.close())

  const get = (url: string, headers: Record<string, string> = {}, method: 'GET' | 'HEAD' | 'POST' = 'GET') =>
    app.inject({ url, headers, method })

  it('is HTML at /, whatever the query, with a strict policy, and is read again if it could not be read', async () => {
    const reading = mock.method(resources, 'webFile', () => Promise.reject(new Error('too many open files')))
    assert.equal((await get('/')).statusCode, 500)
    reading.mock.restore()
    const { statusCode, headers, body } = await get('/?q=garcia&sort=-year')
    assert.equal(statusCode, 200)
    assert.equal(headers['content-type'], 'text/html; charset=utf-8')
    assert.match(body, /^<!doctype html>/)
    const policy = String(headers['content-security-policy'])
    for (const directive of [
      "default-src 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ])
      assert.ok(policy.includes(directive), directive)
    assert.doesNotMatch(policy, /unsafe|\*|https?:/)
  })

  it('names its own files only, and loads little at the first visit, headers included', async () => {
    const { body } = await get('/')
    const named = Array.from(body.matchAll(/(?:href|src)="\.?([^"]*)"/g), ([, path]) => path ?? '')
    assert.deepEqual(
      named.filter((path) => path !== 'docs' && !paths.includes(path)),
      [],
    )
    const loaded = ['/', ...new Set(named.filter((path) => paths.includes(path)))]
    const responses = await Promise.all(loaded.map((path) => get(path, { 'accept-encoding': 'br' })))
    const sizes = responses.map(
      ({ headers, rawPayload }) => JSON.stringify(headers).length + rawPayload.length,
    )
    const bytes = sizes.reduce((sum, size) => sum + size, 0)
    assert.ok(responses.length <= FIRST_VISIT.requests, `${responses.length} requests`)
    assert.ok(bytes <= FIRST_VISIT.bytes, `${bytes} bytes`)
  })

  it('is asked for each time, and sent only if it is another', async () => {
    const { headers } = await get('/')
    assert.equal(headers['cache-control'], 'no-cache')
    for (const method of ['GET', 'HEAD'] as const) {
      const again = await get('/', { 'if-none-match': String(headers.etag) }, method)
      assert.deepEqual([again.statusCode, again.body], [304, ''])
      // It would be that of the page (RFC 9110 §8.6).
      assert.equal(again.headers['content-length'], undefined)
      for (const name of ['etag', 'cache-control', 'vary']) assert.equal(again.headers[name], headers[name])
    }
  })

  it('consists of files that never change, are what they say, weigh little, and are the same in every coding', async () => {
    let size = 0
    assert.ok(paths.length > 5)
    const docs = await readWebFiles(DOCS.source)
    const ofDocs = [...docs.files.keys()].map((name) => `${DOCS.prefix}/${docs.version}/${name}`)
    for (const path of ['/', ...paths, '/docs', ...ofDocs]) {
      const plain = await get(path)
      assert.equal(plain.statusCode, 200, path)
      // Browsers translate a page by replacing its texts: lit-html would then draw the next ones beside it.
      if (plain.body.startsWith('<!'))
        assert.match(plain.body, /^<!doctype html>\s*<html [^>]*translate="no"/)
      assert.equal(plain.headers['content-encoding'], undefined)
      const gzip = await get(path, { 'accept-encoding': 'gzip' })
      assert.deepEqual(gunzipSync(gzip.rawPayload), plain.rawPayload)
      const { headers, rawPayload } = await get(path, { 'accept-encoding': 'gzip, deflate, br' })
      assert.equal(headers['content-encoding'], 'br')
      assert.deepEqual(brotliDecompressSync(rawPayload), plain.rawPayload)
      assert.match(String(headers.vary), /Accept-Encoding/)
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.equal(headers['cross-origin-resource-policy'], 'same-origin')
      if (!paths.includes(path)) continue
      assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
      assert.match(
        String(headers['content-type']),
        /^(?:text\/(?:css|csv|javascript); charset=utf-8|image\/svg\+xml)$/,
      )
      size += rawPayload.length
    }
    assert.ok(size < BUDGET, `${size} bytes`)
  })

  it('serves its own scripts without comments and indentation, and libraries without the names of source maps', async () => {
    const { files } = catalogue
    const own = readdirSync(WEB).filter((name) => name.endsWith('.js'))
    assert.ok(own.length > 20)
    for (const name of own) {
      const served = files.get(name)?.coded.identity.toString() ?? ''
      const written = readFileSync(join(WEB, name), 'utf8')
      assert.doesNotMatch(served, /^[ \t]*\/\*\*[^\n]*\*\/$|^ \* @|^[ \t]*\/\//m, name)
      // Space at the beginning of lines remains in templates only, where HTML ignores it.
      const code = (text: string) => transformSync(text, { minify: true }).code.replaceAll(/\n\s+/g, '\n')
      assert.equal(code(served), code(written), name)
    }
    const library = files.get('lit-html/lit-html.js')?.coded.identity.toString() ?? ''
    assert.match(library, /@license/)
    assert.doesNotMatch(library, /sourceMappingURL/)
  })

  it('does not serve a file that it does not have, nor one of another version', async () => {
    const { version } = catalogue
    for (const unknown of [`${version}/nothing.js`, `${version}/tsconfig.json`, 'other/main.js', '']) {
      const response = await get(`/web/${unknown}`)
      assert.equal(response.statusCode, 404, unknown)
    }
  })
})
