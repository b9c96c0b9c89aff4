import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { browserMissing, launchBrowser } from '../support/browser.ts'
import { ACCOUNT } from '../support/service.ts'
import { useService } from '../support/use-service.ts'
import { equip, openPage } from '../web/page.ts'

describe('/docs in a browser', { skip: browserMissing }, () => {
  const service = useService()
  let browser: Browser
  let page: Page
  const requested = new Set<string>()
  const errors: string[] = []

  before(async () => {
    browser = await launchBrowser()
    page = await browser.newPage({ viewport: { width: 1200, height: 1000 } })
    page.on('request', (request) => requested.add(new URL(request.url()).origin))
    // Also what the policy of the page forbids.
    page.on('console', (message) => {
      if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) errors.push(message.text())
    })
    page.on('pageerror', (error) => errors.push(error.message))
    await page.goto(`${service.url}/docs`)
    await page.locator('.opblock').first().waitFor()
  })
  after(() => browser?.close())

  /** Opens the endpoint, sends what it shows or the body given, and answers the status and body that it shows. */
  async function tryOut(id: string, body?: object): Promise<string> {
    const block = page.locator(`[id$="-${id}"]`)
    await block.locator('.opblock-summary-control').click()
    if (body !== undefined) await block.locator('textarea').fill(JSON.stringify(body))
    await block.locator('button.execute').click()
    const live = block.locator('.live-responses-table')
    await live.waitFor()
    const status = await live.locator('.response-col_status').last().textContent()
    return `${status} ${await live.locator('pre.microlight').first().textContent()}`
  }

  it('lists all endpoints', async () => assert.equal(await page.locator('.opblock').count(), 10))

  it('shows that a call without a token is refused, and fills in no parameter that narrows the list', async () => {
    assert.match(await tryOut('listBooks'), /401.*Authorization token required/s)
    const inputs = page.locator('[id$="-listBooks"] .parameters input')
    assert.equal(await inputs.count(), 9)
    for (const input of await inputs.all()) assert.equal(await input.inputValue(), '')
  })

  it('lets a person log in, sends the token with the next call, and shows HTML in a book as text', async () => {
    assert.match(await tryOut('logIn', ACCOUNT), /200/)
    const created = await tryOut('createBook', { title: '<img src=x>', author: 'A', year: 1 })
    assert.match(created, /201.*<img src=x>/s)
    assert.equal(await page.locator('.live-responses-table img').count(), 0)
  })

  it('has the colours of the catalogue in the dark, is accessible, and leads back to it', async () => {
    const other = await openPage(browser, service.url, { colorScheme: 'dark' })
    const background = (element: string) => other.evaluate(`getComputedStyle(${element}).backgroundColor`)
    const catalogue = await background('document.documentElement')
    await other.logIn()
    await other.getByRole('button', { name: 'Menu' }).click()
    await other.getByRole('link', { name: 'API' }).click()
    await other.locator('[id$="-createBook"] .opblock-summary-control').click()
    await other.locator('[id$="-createBook"] .execute').click()
    await other.locator('.live-responses-table').waitFor()
    assert.equal(await background('document.body'), catalogue)
    // While the button fades, its contrast is low.
    await other.evaluate('Promise.allSettled(document.getAnimations().map(({ finished }) => finished))')
    // The structure is the library's.
    const rules = ['color-contrast', 'document-title', 'html-has-lang', 'button-name']
    await other.assertAccessible('docs-dark', rules)
    await other.getByRole('link', { name: 'Book Catalogue' }).click()
    await other.getByRole('button', { name: 'Menu' }).waitFor()
    await other.context().close()
  })

  it('shares the log-in with the catalogue, in both directions, also with other tabs', async () => {
    const context = await browser.newContext()
    const [docs, catalogue] = [await context.newPage(), equip(await context.newPage())]
    const status = async () => {
      const response = docs.waitForResponse(/statistics/)
      await docs.locator('[id$="-countBooks"] button.execute').click()
      return (await response).status()
    }
    await docs.goto(`${service.url}/docs`)
    await docs.locator('[id$="-countBooks"] .opblock-summary-control').click()
    assert.equal(await status(), 401)
    await docs.locator('[id$="-logIn"] .opblock-summary-control').click()
    await docs.locator('[id$="-logIn"] textarea').fill(JSON.stringify(ACCOUNT))
    await docs.locator('[id$="-logIn"] button.execute').click()
    await docs.locator('[id$="-logIn"] .live-responses-table').waitFor()
    await catalogue.goto(service.url)
    await catalogue.chooseInMenu('Log out')
    await docs.locator('.authorize.unlocked').waitFor()
    assert.equal(await status(), 401)
    await catalogue.logIn()
    await docs.locator('.authorize.locked').waitFor()
    assert.equal(await status(), 200)
    await context.close()
  })

  it('asks nothing of any other server, and meets no error', () =>
    assert.deepEqual([[...requested], errors], [[service.url], []]))
})
