import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserMissing, useBrowser } from '../support/browser.ts'
import { openPrefixProxy } from '../support/prefix-proxy.ts'
import { useService } from '../support/use-service.ts'
import { assertAccessible, chooseInMenu, openCatalogue, openPage } from './page.ts'

/** What a proxy answers once its own log-in has ended. */
const WALLS: Record<
  string,
  { says: RegExp; status: number; headers: Record<string, string>; body?: string }
> = {
  'redirects to a log-in page of another origin': {
    says: /it redirects to another page/,
    status: 302,
    headers: { location: 'http://log-in.invalid/' },
  },
  'redirects to a log-in page of its own': {
    says: /it redirects to another page/,
    status: 307,
    headers: { location: '/log-in' },
  },
  'answers with a log-in page': {
    says: /200 with a web page/,
    status: 200,
    headers: { 'content-type': 'text/html; charset=utf-8' },
    body: '<!doctype html><title>Log in</title>',
  },
  'refuses with a page': {
    says: /401 with a web page/,
    status: 401,
    headers: { 'content-type': 'text/html' },
    body: '<h1>401 Authorization Required</h1>',
  },
  'refuses with JSON of its own': {
    says: /403 with application.json/,
    status: 403,
    headers: { 'content-type': 'application/json' },
    body: '{"message":"Forbidden"}',
  },
  'wants a password of its own': {
    says: /HTTP Basic/,
    status: 401,
    headers: { 'content-type': 'text/html', 'www-authenticate': 'Basic realm="Restricted"' },
    body: '<h1>401 Authorization Required</h1>',
  },
}

describe('the web page behind a proxy with a log-in of its own', { skip: browserMissing }, () => {
  const service = useService((started) => started.createBook({ title: 'Kindred', author: 'B', year: 1 }))
  const browser = useBrowser()

  for (const [name, { says, status, headers, body }] of Object.entries(WALLS))
    it(`says what it got when the proxy ${name}, and keeps what is typed over a reload`, async () => {
      let isUp = false
      const proxy = await openPrefixProxy('/', service.url, {
        handle({ headers: { 'sec-fetch-mode': mode }, url = '' }, response) {
          // Whoever loads a page logs in at the proxy.
          if (url === '/log-in' || mode === 'navigate') isUp = false
          else if (isUp) response.writeHead(status, headers).end(body)
          return isUp
        },
      })
      try {
        const page = await openCatalogue(browser(), proxy.url)
        const button = (name: string) => page.getByRole('button', { name, exact: true })
        const link = (name: string) => page.getByRole('link', { name, exact: true })
        const field = (label: string) => page.getByRole('dialog').getByLabel(label)

        await page.getByLabel('Search').fill('kind')
        await link('Kindred').click()
        await field('Author').fill(`Author, ${name}`)
        isUp = true
        await button('Save').click()
        await page.getByText('Your changes are still here').waitFor()
        await page.getByText(says).waitFor()
        await assertAccessible(page)
        await button('Reload').click()
        // The service did not lose the log-in to itself, and nobody is asked whether to discard anything.
        await page.waitForURL(/q=kind.*#book=1/)
        await button('Save').click()
        await page.getByText('Saved “Kindred”.').waitFor()
        await page.locator('.row .author', { hasText: name }).waitFor()

        await button('Add book').click()
        await field('Title').fill(`New, ${name}`)
        await field('Year').fill('1999')
        isUp = true
        await button('Save').click()
        await button('Reload').click()
        await page.getByText(says).waitFor({ state: 'hidden' })
        assert.equal(await field('Title').inputValue(), `New, ${name}`)
        await button('Save').click()
        await page.getByText(`Added “New, ${name}”.`).waitFor()

        isUp = true
        await page.getByLabel('Search').fill('new')
        await page.getByText(says).waitFor()
        // Somebody has logged in at the proxy, in another tab.
        isUp = false
        await page.locator('.row .title', { hasText: name }).waitFor()
        await page.getByText(says).waitFor({ state: 'hidden' })

        await chooseInMenu(page, 'Log out')
        await page.getByLabel('Username').fill('x')
        isUp = true
        await page.getByLabel('Password', { exact: true }).fill('x')
        await button('Log in').click()
        await page.getByText(says).waitFor()
        await page.context().close()
      } finally {
        proxy.close()
      }
    })

  it('says so when the service refuses the log-in because the proxy has replaced Host', async () => {
    const proxy = await openPrefixProxy('/', service.url, {
      request(headers) {
        headers.host = 'books.internal'
        // Browsers send none to an address without HTTPS.
        delete headers['sec-fetch-site']
      },
    })
    try {
      const page = await openPage(browser(), proxy.url)
      await page.getByLabel('Username').fill('x')
      await page.getByLabel('Password', { exact: true }).fill('x')
      await page.getByRole('button', { name: 'Log in' }).click()
      await page.getByText('because a proxy replaces the Host header').waitFor()
      await assertAccessible(page)
      await page.context().close()
    } finally {
      proxy.close()
    }
  })
})
