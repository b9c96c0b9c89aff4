import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { openPrefixProxy } from '../support/prefix-proxy.ts'
import { useService } from '../support/use-service.ts'
import { openCatalogue, openPage, usePages } from './page.ts'

interface Wall {
  /** What the page says of it. */
  readonly says: RegExp
  readonly status: number
  readonly headers: Record<string, string>
  readonly body?: string
}

const HTML = { 'content-type': 'text/html; charset=utf-8' }
const REFUSAL = '<h1>401 Authorization Required</h1>'

/** What a proxy answers once its own log-in has ended. */
const WALLS: Record<string, Wall> = {
  'redirects to a log-in page of another origin': {
    ...{ says: /it redirects to another page/, status: 302 },
    headers: { location: 'http://log-in.invalid/' },
  },
  'redirects to a log-in page of its own': {
    ...{ says: /it redirects to another page/, status: 307 },
    headers: { location: '/log-in' },
  },
  'answers with a log-in page': {
    ...{ says: /200 with a web page/, status: 200, headers: HTML },
    body: '<!doctype html><title>Log in</title>',
  },
  'refuses with a page': { says: /401 with a web page/, status: 401, headers: HTML, body: REFUSAL },
  'refuses with JSON of its own': {
    ...{ says: /403 with application.json/, status: 403, headers: { 'content-type': 'application/json' } },
    body: '{"message":"Forbidden"}',
  },
  'wants a password of its own': {
    ...{ says: /HTTP Basic/, status: 401, body: REFUSAL },
    headers: { ...HTML, 'www-authenticate': 'Basic realm="Restricted"' },
  },
}

describe('the web page behind a proxy with a log-in of its own', { skip: browserMissing }, () => {
  const service = useService((started) => started.createBook({ title: 'Kindred', author: 'B', year: 1 }))
  const browser = usePages()

  for (const [name, { says, status, headers, body }] of Object.entries(WALLS))
    it(`says what it got when the proxy ${name}, and keeps what is typed over a reload`, async () => {
      let isUp = false
      await using proxy = await openPrefixProxy('/', service.url, {
        handle({ headers: { 'sec-fetch-mode': mode }, url = '' }, response) {
          // Whoever loads a page logs in at the proxy.
          if (url === '/log-in' || mode === 'navigate') isUp = false
          else if (isUp) response.writeHead(status, headers).end(body)
          return isUp
        },
      })
      const page = await openCatalogue(browser(), proxy.url)
      await page.search('kind')
      await page.openBook('Kindred', { Author: `Author, ${name}` })
      isUp = true
      await page.choose('Save', 'Your changes are still here')
      await page.shows(says)
      await page.assertAccessible()
      await page.button('Reload').click()
      // The service did not lose the log-in to itself, and nobody is asked whether to discard anything.
      await page.waitForURL(/q=kind.*#book=1/)
      await page.choose('Save', 'Saved “Kindred”.')
      await page.locator('.row .author', { hasText: name }).waitFor()

      await page.addBook({ Title: `New, ${name}`, Year: '1999' })
      isUp = true
      await page.button('Save').click()
      await page.button('Reload').click()
      await page.hides(says)
      assert.equal(await page.field('Title').inputValue(), `New, ${name}`)
      await page.choose('Save', `Added “New, ${name}”.`)
      await page.reload()
      await page.locator('.row .title').first().waitFor()
      assert.equal(await page.dialog().count(), 0)

      isUp = true
      await page.search('new')
      await page.shows(says)
      // Somebody has logged in at the proxy, in another tab.
      isUp = false
      await page.locator('.row .title', { hasText: name }).waitFor()
      await page.hides(says)

      await page.chooseInMenu('Log out')
      await page.getByLabel('Username').fill('x')
      isUp = true
      await page.getByLabel('Password', { exact: true }).fill('x')
      await page.choose('Log in', says)
    })

  it('says so when the service refuses the log-in because the proxy has replaced Host', async () => {
    await using proxy = await openPrefixProxy('/', service.url, {
      request(headers) {
        headers.host = 'books.internal'
        // Browsers send none to an address without HTTPS.
        delete headers['sec-fetch-site']
      },
    })
    const page = await openPage(browser(), proxy.url)
    await page.getByLabel('Username').fill('x')
    await page.getByLabel('Password', { exact: true }).fill('x')
    await page.choose('Log in', 'because a proxy replaces the Host header')
    await page.assertAccessible()
  })
})
