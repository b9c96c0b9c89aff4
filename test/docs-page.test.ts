import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { browserMissing, launchBrowser } from './support/browser.ts'
import { ACCOUNT, type Service, startService, temporaryDirectory } from './support/service.ts'

describe('/docs in a browser', { skip: browserMissing }, () => {
  const directory = temporaryDirectory()
  let service: Service
  let browser: Browser
  let page: Page
  const requested = new Set<string>()
  const errors: string[] = []

  before(async () => {
    service = await startService(directory.path)
    browser = await launchBrowser()
    page = await browser.newPage({ viewport: { width: 1200, height: 1000 } })
    page.on('request', (request) => requested.add(new URL(request.url()).origin))
    page.on('pageerror', (error) => errors.push(error.message))
    await page.goto(`${service.url}/docs`)
  })
  after(async () => {
    await browser?.close()
    await service?.stop()
    directory.remove()
  })

  /** Opens the endpoint, sends what it shows or the body given, and answers the status and body that it shows. */
  async function tryOut(id: string, body?: object): Promise<{ status: string; answer: string }> {
    const block = page.locator(`[id$="-${id}"]`)
    await block.locator('.opblock-summary-control').click()
    if (body !== undefined) await block.locator('textarea').fill(JSON.stringify(body))
    await block.locator('button.execute').click()
    const live = block.locator('.live-responses-table')
    await live.waitFor()
    return {
      status: (await live.locator('.response-col_status').last().textContent()) ?? '',
      answer: (await live.locator('pre.microlight').first().textContent()) ?? '',
    }
  }

  it('lists the six endpoints', async () => {
    await page.locator('.opblock').first().waitFor()
    assert.equal(await page.locator('.opblock').count(), 6)
  })

  it('shows that a call without a token is refused', async () => {
    const { status, answer } = await tryOut('listBooks')
    assert.match(status, /401/)
    assert.match(answer, /Authorization token required/)
  })

  it('lets a person log in, and sends the token with the next call', async () => {
    assert.match((await tryOut('logIn', ACCOUNT)).status, /200/)
    const { status, answer } = await tryOut('createBook', { title: '<b>bold</b>', author: 'A', year: 1 })
    assert.match(status, /201/)
    assert.match(answer, /<b>bold<\/b>/)
  })

  it('asks nothing of any other server, and meets no error', () => {
    assert.deepEqual([...requested], [service.url])
    assert.deepEqual(errors, [])
  })
})
