import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Route } from 'playwright-core'
import { browserMissing } from '../support/browser.ts'
import { freePort } from '../support/free-port.ts'
import { startNginx } from '../support/nginx.ts'
import { openPrefixProxy } from '../support/prefix-proxy.ts'
import { findProgram } from '../support/program.ts'
import { ServerDirectory } from '../support/server-directory.ts'
import { useService } from '../support/use-service.ts'
import { openCatalogue, openPage, page, usePage, usePages } from './page.ts'

const NGINX = findProgram('nginx')

/** As those of addresses without HTTPS: the page cannot make the tags itself. */
const WITHOUT_DIGESTS = "Object.defineProperty(Crypto.prototype, 'subtle', { value: undefined })"

/** Starts nginx in front of a service. @param settings of its `http` block. */
async function openNginx(service: string, settings = '') {
  const port = await freePort()
  const location = `location / { proxy_pass ${service}; proxy_set_header Host $http_host; }`
  const servers = `${settings} server { listen 127.0.0.1:${port}; ${location} }`
  const nginx = await startNginx(NGINX.file, new ServerDirectory(), servers)
  return { url: `http://127.0.0.1:${port}/`, [Symbol.asyncDispose]: () => nginx.remove() }
}

/** Ways to the service whose entity tags are others than those that it has sent, or none. */
const WAYS = {
  'nginx makes them weak, without digests': (service: string) =>
    openNginx(service, 'gzip on; gzip_proxied any; gzip_types application/json;'),
  'a proxy takes them out': (service: string) =>
    openPrefixProxy('/', service, {
      response: (headers) => {
        delete headers.etag
      },
    }),
}

const HTML = { 'content-type': 'text/html; charset=utf-8' }
const JSON_TYPE = { 'content-type': 'application/json' }
/** Of a file that ends early. */
const CUT = { 'content-type': 'text/csv', 'content-length': '1000', connection: 'close' }
const BASIC = { ...HTML, 'www-authenticate': 'Basic realm="Restricted"' }

/** What a proxy answers once its own log-in has ended, and what the page says of it. */
const WALLS = [
  {
    ...{ says: 'it redirects to another page', status: 302, body: '' },
    headers: { location: 'http://log-in.invalid/' },
  },
  { says: '200 with a web page', status: 200, headers: HTML, body: '<!doctype html><title>Log in</title>' },
  { says: '403 with application/json', status: 403, headers: JSON_TYPE, body: '{"message":"Forbidden"}' },
  { says: 'HTTP Basic', status: 401, headers: BASIC, body: '<h1>401 Authorization Required</h1>' },
]

describe('the web page whose entity tags are changed on their way', { skip: browserMissing }, () => {
  const service = useService()
  const browser = usePages()

  for (const [name, open] of Object.entries(WAYS))
    it(`edits, overwrites, deletes and takes back where ${name}`, {
      skip: name.startsWith('nginx') && NGINX.missing,
    }, async () => {
      const [, word = ''] = name.split(' ')
      // The page makes the tag of these letters.
      const titleOf = (part: number) => `Part ${part} “ÿ” 漢字 ${word}`
      for (const year of [0, 1, 2]) await service.createBook({ title: titleOf(year), year })
      const [{ id } = assert.fail()] = await service.listBooks(`q=${word}`)
      await using proxy = await open(service.url)
      const page = await openPage(browser(), 'about:blank')
      if (name.includes('without')) await page.addInitScript(WITHOUT_DIGESTS)
      await page.goto(`${proxy.url}?q=${word}&sort=id`)
      await page.logIn()
      for (const Year of ['1990', '1991']) {
        await page.openBook(titleOf(0), { Year })
        await page.button('Save').click()
        await page.showsNoDialog()
      }

      // It is open, so the page has read it.
      await page.openBook(titleOf(0), { Year: '1993' })
      await service.updateBook(id, { year: 1992 })
      await page.choose('Save', 'Someone else has changed this book')
      await page.button('Overwrite with mine').click()
      await page.showsNoDialog()
      assert.equal((await service.readBook(id)).year, 1993)

      const deleted = page.waitForResponse((response) => response.request().method() === 'DELETE')
      await page.deleteBook(titleOf(1))
      assert.equal((await deleted).status(), 200)

      await page.selectAll()
      await page.shows(/^2 selected$/)
      await page.button('Edit…').click()
      await page.fillIn({ Author: word })
      await page.choose('Save 2 books', 'Saved 2 books.')
      assert.equal((await service.listBooks(`author=${word}`)).length, 2)

      await page.chooseFile('title,author,year\nNew 0,N,1\nNew 1,N,2\n')
      await page.button('Import 2 books').click()
      await page.button('Undo import').click()
      await page.choose('Delete 2 books', 'Deleted 2 books.')
      assert.equal((await service.listBooks('author=N')).length, 0)
    })
})

describe('the web page says who refuses a large file', { skip: browserMissing }, () => {
  const service = useService(undefined, { IMPORT_LIMIT: '1' })
  const browser = usePages()

  it('nginx in front of the service', { skip: NGINX.missing }, async () => {
    const limits = 'client_max_body_size 20k; large_client_header_buffers 4 1k;'
    await using nginx = await openNginx(service.url, limits)
    const page = await openCatalogue(browser(), nginx.url)
    await page.chooseFile(Buffer.alloc(600_000, 'title,author,year\n'))
    await page.shows('A proxy in front of the service does not accept files this large')
    await page.button('Close').click()
    await page.getByRole('main').getByRole('button', { name: 'Add book' }).click()
    await page.fillIn({ Title: 'word'.repeat(6000), Author: 'A' })
    await page.choose('Save', 'Title and author are too long.')
    // Nor does it accept so long an address.
    await page.search('言'.repeat(300))
    await page.shows('Too many words to search for')
    assert.equal(await page.button('Reload').count(), 0)
  })

  it('the service', async () => {
    const page = await openCatalogue(browser(), service.url)
    await page.chooseFile(Buffer.alloc(2 ** 21, 'title,author,year\n'))
    await page.shows('The file is larger than this service accepts')
  })
})

describe('the web page behind a proxy with a log-in of its own', { skip: browserMissing }, () => {
  const service = useService((started) => started.createBook({ title: 'Kindred', author: 'B', year: 1 }))
  /** What the proxy answers at present, but not to whoever loads a page: they log in at the proxy. */
  let wall: (typeof WALLS)[number] | undefined
  let proxy: Awaited<ReturnType<typeof openPrefixProxy>>
  before(async () => {
    proxy = await openPrefixProxy('/', service.url, {
      handle({ headers: { 'sec-fetch-dest': wanted } }, response) {
        if (wanted === 'document') wall = undefined
        // The page may not have all of its scripts yet.
        if (wall === undefined || wanted !== 'empty') return false
        response.writeHead(wall.status, wall.headers).end(wall.body)
        return true
      },
    })
  })
  after(() => proxy?.[Symbol.asyncDispose]())
  const browser = usePage(() => proxy.url, 'Kindred')

  for (const each of WALLS)
    it(`says what the proxy answers: ${each.says}`, async () => {
      wall = each
      await page.search('kind')
      await page.shows(each.says)
      // Somebody has logged in at the proxy, in another tab.
      wall = undefined
      await page.hides(each.says)
      await page.chooseInMenu('Log out')
      await page.getByLabel('Username').fill('x')
      wall = each
      await page.getByLabel('Password', { exact: true }).fill('x')
      await page.choose('Log in', each.says)
    })

  it('keeps over a reload what is typed, also in a panel whose save failed after it was closed', async () => {
    const failSave = async (author: string) => {
      await page.openBook('Kindred', { Author: author })
      wall = WALLS[0]
      const released = Promise.withResolvers<void>()
      const hold = (route: Route) => released.promise.then(() => route.continue())
      await page.route('**/book/1', hold, { times: 1 })
      await page.button('Save').click()
      await page.cancel()
      released.resolve()
      await page.shows('“Kindred” was not saved.')
    }
    await page.search('kind')
    const before = await page.hold('GET', /q=Kindred/, () => page.openBook('Kindred', { Author: 'Octavia' }))
    wall = WALLS[1]
    await page.choose('Save', 'Your changes are still here')
    await before.release()
    // Another answer is told in the place of this one.
    wall = WALLS[0]
    await page.choose('Save', 'it redirects to another page')
    assert.equal(await page.getByText('200 with a web page').count(), 0)
    await page.assertAccessible()
    await page.button('Reload').click()
    // The service did not lose the log-in to itself, and nobody is asked whether to discard anything.
    await page.waitForURL(/q=kind.*#book=1/)
    await page.choose('Save', 'Saved “Kindred”.')
    await page.locator('.row .author', { hasText: 'Octavia' }).waitFor()
    await failSave('Butler')
    await page.button('Reload').click()
    await page.hides('“Kindred” was not saved.')
    assert.equal(await page.field('Author').inputValue(), 'Butler')
    await page.choose('Save', 'Saved “Kindred”.')
    await failSave('O. Butler')
    await page.addBook({ Title: 'Fledgling', Year: '2005' })
    await page.button('Reload').click()
    await page.hides('it redirects to another page')
    assert.equal(await page.field('Title').inputValue(), 'Fledgling')
    await page.choose('Save', 'Added “Fledgling”.')
    await page.shows('“Kindred” was not saved.')
    await page.button('Open').click()
    assert.equal(await page.field('Author').inputValue(), 'O. Butler')
    await page.choose('Save', 'Saved “Kindred”.')
    await page.reload()
    await page.locator('.row .title').first().waitFor()
    assert.equal(await page.dialog().count(), 0)
    // Nor does a conflict get lost, whose other version would be overwritten unseen.
    await page.openBook('Kindred', { Author: 'O. E. B.' })
    await page.button('Delete').waitFor()
    await service.updateBook(1, { year: 1979 })
    await page.choose('Save', 'Someone else has changed this book')
    wall = WALLS[0]
    await page.choose('Overwrite with mine', 'Your changes are still here')
    await page.button('Reload').click()
    await page.hides('it redirects to another page')
    await page.choose('Overwrite with mine', 'Saved “Kindred”.')
  })

  it('offers no reload when the proxy does not reach the service, or only for a while, and asks before one that keeps nothing', async () => {
    await page.chooseInMenu('Export…')
    wall = { says: '', status: 200, headers: CUT, body: 'id,title,author,year' }
    await page.choose('CSV for programs', 'The connection was lost. Nothing was exported.')
    await page.cancel()
    wall = undefined
    await page.openBook('Kindred', { Author: 'Unkept' })
    wall = { says: '', status: 502, headers: HTML, body: '' }
    await page.choose('Save', 'The service is not responding. Your changes are still here')
    assert.equal(await page.button('Reload').count(), 0)
    wall = WALLS[0]
    await page.button('Save').click()
    await page.evaluate(
      `Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError') }`,
    )
    const asked = page.waitForEvent('dialog').then((dialog) => dialog.dismiss())
    await Promise.all([asked, page.button('Reload').click()])
    assert.equal(await page.field('Author').inputValue(), 'Unkept')
  })

  it('says so when the service refuses the log-in because the proxy has replaced Host', async () => {
    await using replacing = await openPrefixProxy('/', service.url, {
      request(headers) {
        headers.host = 'books.internal'
        // Browsers send none to an address without HTTPS.
        delete headers['sec-fetch-site']
      },
    })
    const login = await openPage(browser(), replacing.url)
    await login.getByLabel('Username').fill('x')
    await login.getByLabel('Password', { exact: true }).fill('x')
    await login.choose('Log in', 'because a proxy replaces the Host header')
  })
})
