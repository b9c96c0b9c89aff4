import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { browserMissing, launchBrowser } from '../support/browser.ts'
import { logIn } from '../support/client.ts'
import { ACCOUNT, type Service, startService, temporaryDirectory } from '../support/service.ts'
import { useService } from '../support/use-service.ts'
import { assertAccessible, logInOn, openPage, screenshot } from '../web/page.ts'

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
    // Also what the policy of the page forbids.
    page.on('console', (message) => {
      if (message.type() === 'error' && !/status of 4\d\d/.test(message.text())) errors.push(message.text())
    })
    page.on('pageerror', (error) => errors.push(error.message))
    await page.goto(`${service.url}/docs`)
  })
  after(async () => {
    await browser?.close()
    await service?.stop()
    directory.remove()
  })

  /** Opens the endpoint, sends what it shows or the body given, and answers the status and body that it shows. */
  async function tryOut(
    id: string,
    body?: object,
    bookId?: string,
  ): Promise<{ status: string; response: string }> {
    const block = page.locator(`[id$="-${id}"]`)
    await block.locator('.opblock-summary-control').click()
    if (body !== undefined) await block.locator('textarea').fill(JSON.stringify(body))
    if (bookId !== undefined) await block.locator('input').first().fill(bookId)
    await block.locator('button.execute').click()
    const live = block.locator('.live-responses-table')
    await live.waitFor()
    return {
      status: (await live.locator('.response-col_status').last().textContent()) ?? '',
      response: (await live.locator('pre.microlight').first().textContent()) ?? '',
    }
  }

  it('lists all endpoints', async () => {
    await page.locator('.opblock').first().waitFor()
    assert.equal(await page.locator('.opblock').count(), 10)
  })

  it('shows that a call without a token is refused', async () => {
    const { status, response } = await tryOut('listBooks')
    assert.match(status, /401/)
    assert.match(response, /Authorization token required/)
  })

  it('fills in no parameter that narrows the list', async () => {
    const inputs = page.locator('[id$="-listBooks"] .parameters input')
    assert.equal(await inputs.count(), 9)
    for (const input of await inputs.all()) assert.equal(await input.inputValue(), '')
  })

  it('lets a person log in, and sends the token with the next call', async () => {
    assert.match((await tryOut('logIn', ACCOUNT)).status, /200/)
    const { status, response } = await tryOut('createBook', { title: '<b>bold</b>', author: 'A', year: 1 })
    assert.match(status, /201/)
    assert.match(response, /<b>bold<\/b>/)
  })

  it('shows HTML that is stored in a book as text', async () => {
    const title = '<img src=x onerror="document.title=`stolen`"><script>document.title=`stolen`</script>'
    const headers = { authorization: await logIn(service.url) }
    const body = JSON.stringify({ title, author: title, year: 1 })
    assert.equal((await fetch(`${service.url}/book`, { method: 'POST', headers, body })).status, 201)
    const { response } = await tryOut('readBook', undefined, '2')
    assert.ok(response.includes('<script>'), response)
    assert.equal(await page.locator('.live-responses-table img, .live-responses-table script').count(), 0)
    assert.notEqual(await page.title(), 'stolen')
  })

  it('may not be put into a frame', async () => {
    const framing = await browser.newPage()
    await framing.setContent(`<iframe src="${service.url}/docs"></iframe>`)
    await framing.waitForTimeout(500)
    const frame = framing.frames()[1]
    assert.equal(
      await frame
        ?.locator('.opblock, #swagger-ui')
        .count()
        .catch(() => 0),
      0,
    )
    await framing.close()
  })

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`has the colours of the catalogue and leads back to it, in ${colorScheme}`, async () => {
      const other = await openPage(browser, service.url, { colorScheme })
      const background = (element: string) => other.evaluate(`getComputedStyle(${element}).backgroundColor`)
      const catalogue = await background('document.documentElement')
      await logInOn(other)
      await other.getByRole('link', { name: 'API' }).click()
      await other.locator('.opblock').first().waitFor()
      await other.locator('[id$="-createBook"] .opblock-summary-control').click()
      await other.locator('[id$="-createBook"] .execute').click()
      await other.locator('.live-responses-table').waitFor()
      assert.equal(await background('document.body'), catalogue)
      // While the button fades, its contrast is low.
      await other.evaluate('Promise.allSettled(document.getAnimations().map(({ finished }) => finished))')
      // The structure is the library's.
      await assertAccessible(other, undefined, [
        'color-contrast',
        'document-title',
        'html-has-lang',
        'button-name',
      ])
      await screenshot(other, `docs-${colorScheme}`)
      await other.getByRole('link', { name: 'Book Catalogue' }).click()
      await other.getByRole('button', { name: 'Log out' }).waitFor()
      await other.context().close()
    })
  }

  it('asks nothing of any other server, and meets no error', () => {
    assert.deepEqual([...requested], [service.url])
    assert.deepEqual(errors, [])
  })
})

describe('the page at /docs', () => {
  const service = useService()

  it('has a strict policy', async () => {
    const { headers } = await fetch(`${service.url}/docs`)
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('content-type'), 'text/html; charset=utf-8')
    const policy = headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'/)
    assert.match(policy, /frame-ancestors 'none'/)
    assert.doesNotMatch(policy, /unsafe|\*|https?:/)
  })

  it('is also found with a slash at the end', async () => {
    const response = await fetch(`${service.url}/docs/`)
    assert.equal(response.url, `${service.url}/docs`)
    assert.equal(response.status, 200)
  })
})
