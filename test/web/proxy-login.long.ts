import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Route } from 'playwright-core'
import { browserMissing } from '../support/browser.ts'
import { openPrefixProxy } from '../support/prefix-proxy.ts'
import { useService } from '../support/use-service.ts'
import { openPage, page, usePage } from './page.ts'

interface Wall {
  /** What the page says of it. */
  readonly says: string
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
}

const HTML = { 'content-type': 'text/html; charset=utf-8' }
const JSON_TYPE = { 'content-type': 'application/json' }
const BASIC = { ...HTML, 'www-authenticate': 'Basic realm="Restricted"' }

/** What a proxy answers once its own log-in has ended. */
const REDIRECT: Wall = {
  ...{ says: 'it redirects to another page', status: 302, body: '' },
  headers: { location: 'http://log-in.invalid/' },
}
const WALLS: Wall[] = [
  REDIRECT,
  { says: '200 with a web page', status: 200, headers: HTML, body: '<!doctype html><title>Log in</title>' },
  { says: '403 with application/json', status: 403, headers: JSON_TYPE, body: '{"message":"Forbidden"}' },
  { says: 'HTTP Basic', status: 401, headers: BASIC, body: '<h1>401 Authorization Required</h1>' },
]

describe('the web page behind a proxy with a log-in of its own', { skip: browserMissing }, () => {
  const service = useService((started) => started.createBook({ title: 'Kindred', author: 'B', year: 1 }))
  /** What the proxy answers at present, but not to whoever loads a page: they log in at the proxy. */
  let wall: Wall | undefined
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

  it('keeps what is typed over a reload', async () => {
    await page.search('kind')
    await page.openBook('Kindred', { Author: 'Octavia' })
    wall = REDIRECT
    await page.choose('Save', 'Your changes are still here')
    await page.assertAccessible()
    await page.button('Reload').click()
    // The service did not lose the log-in to itself, and nobody is asked whether to discard anything.
    await page.waitForURL(/q=kind.*#book=1/)
    await page.choose('Save', 'Saved “Kindred”.')
    await page.locator('.row .author', { hasText: 'Octavia' }).waitFor()
    await page.addBook({ Title: 'Dawn', Year: '1999' })
    wall = REDIRECT
    await page.button('Save').click()
    await page.button('Reload').click()
    await page.hides(REDIRECT.says)
    assert.equal(await page.field('Title').inputValue(), 'Dawn')
    await page.choose('Save', 'Added “Dawn”.')
    await page.reload()
    await page.locator('.row .title').first().waitFor()
    assert.equal(await page.dialog().count(), 0)
  })

  it('keeps over a reload also what is typed in a panel whose save failed after it was closed', async () => {
    const failSave = async (author: string) => {
      await page.openBook('Kindred', { Author: author })
      wall = WALLS[1]
      const released = Promise.withResolvers<void>()
      const hold = (route: Route) => released.promise.then(() => route.continue())
      await page.route('**/book/1', hold, { times: 1 })
      await page.button('Save').click()
      await page.cancel()
      released.resolve()
      await page.shows('“Kindred” was not saved.')
    }
    await failSave('Butler')
    await page.button('Reload').click()
    await page.hides('“Kindred” was not saved.')
    assert.equal(await page.field('Author').inputValue(), 'Butler')
    await page.choose('Save', 'Saved “Kindred”.')
    await failSave('O. Butler')
    await page.addBook({ Title: 'Fledgling' })
    await page.button('Reload').click()
    await page.hides('200 with a web page')
    assert.equal(await page.field('Title').inputValue(), 'Fledgling')
    await page.choose('Save', 'Added “Fledgling”.')
    await page.shows('“Kindred” was not saved.')
    await page.button('Open').click()
    assert.equal(await page.field('Author').inputValue(), 'O. Butler')
    await page.choose('Save', 'Saved “Kindred”.')
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
