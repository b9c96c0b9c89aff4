import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { browserMissing, launchBrowser } from '../support/browser.ts'
import { ACCOUNT } from '../support/service.ts'
import { useService } from '../support/use-service.ts'
import { type CataloguePage, equip, openPage } from './page.ts'

const BOOK = { title: `<img src=x> $HOME 'quoted'`, author: 'A', year: 1 }

describe('/docs in a browser', { skip: browserMissing }, () => {
  const service = useService()
  let browser: Browser
  let page: CataloguePage
  const requested = new Set<string>()

  before(async () => {
    browser = await launchBrowser()
    page = await openPage(browser, `${service.url}/docs`)
    page.on('request', (request) => requested.add(new URL(request.url()).origin))
    await page.locator('#listBooks').waitFor()
  })
  after(() => browser?.close())

  const operation = (id: string, on: Page = page) => on.locator(`#${id}`)
  const open = (id: string, on: Page = page) => operation(id, on).locator('> summary').click()
  const status = (id: string, on: Page = page) => operation(id, on).locator('h3')

  /** Sends what the form of the operation holds. @returns the status and the body that are shown. */
  async function send(id: string, on: Page = page): Promise<[status: string | null, body: string | null]> {
    const response = on.waitForResponse((one) => one.request().resourceType() === 'fetch')
    await operation(id, on).getByRole('button', { name: 'Send' }).click()
    await response
    await operation(id, on).getByRole('button', { name: 'Send', disabled: false }).waitFor()
    return [
      await status(id, on).textContent(),
      await operation(id, on).getByLabel('Body').last().textContent(),
    ]
  }

  it('lists all operations, and fills in nothing that narrows the list or names what a call changes', async () => {
    assert.equal(await page.locator('section > details').count(), 10)
    for (const [id, expected] of [
      ['listBooks', Array(9).fill('')],
      ['readBook', ['1', '', '']],
      ['updateBook', ['', '', '']],
      ['deleteBook', ['', '', '']],
    ] as const) {
      const inputs = await operation(id).locator('form input').all()
      assert.deepEqual(await Promise.all(inputs.map((input) => input.inputValue())), expected, id)
    }
    assert.equal(
      await operation('listBooks').getByLabel('sort').getAttribute('placeholder'),
      'such as year,-title',
    )
  })

  it('shows that a call without a token is refused, and why a log-in is', async () => {
    await open('listBooks')
    const [refused, body] = await send('listBooks')
    assert.match(`${refused} ${body}`, /^401 Unauthorized .*Authorization token required/s)
    await page.getByLabel('Username').fill(ACCOUNT.username)
    await page.getByLabel('Password').fill('another')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('alert').getByText('Invalid credentials').waitFor()
  })

  it('sends the token once a person has logged in, shows HTML in a book as text, and the call as a command of a shell', async () => {
    await page.logIn()
    await page.getByText(`Logged in as ${ACCOUNT.username}`).waitFor()
    assert.equal(await page.locator('main > .error').textContent(), '')
    await open('createBook')
    for (const id of ['createBook', 'updateBook']) {
      const field = await operation(id).locator('tr', { hasText: 'author' }).first().textContent()
      assert.equal(/optional/.test(field ?? ''), id === 'updateBook')
    }
    await operation('createBook').getByLabel('Body').first().fill(JSON.stringify(BOOK))
    const [created, body] = await send('createBook')
    assert.equal(created, '201 Created')
    assert.partialDeepStrictEqual(JSON.parse(body ?? ''), { data: BOOK })
    assert.equal(await page.locator('img').count(), 0)
    const command = await operation('createBook').getByLabel('Command').textContent()
    const words = execFileSync('sh', ['-c', `curl() { printf '%s\\0' "$@"; }\n${command}`], {
      encoding: 'utf8',
    })
    const [, , url, , token, , type, , data, end] = words.split('\0')
    assert.deepEqual(
      [url, type, data, end],
      [`${service.url}/book`, 'Content-Type: application/json', JSON.stringify(BOOK), ''],
    )
    assert.match(token ?? '', /^Authorization: [\w-]+\.[\w-]+\.[\w-]+$/)
  })

  it('sends parameters in the path, the query and the header, and only those that are filled in', async () => {
    await operation('listBooks').locator('[name=title]').fill('none & nothing')
    await operation('listBooks').locator('[name=count]').selectOption('true')
    const request = page.waitForRequest(/\/books\?/)
    await send('listBooks')
    assert.equal(new URL((await request).url()).search, '?count=true&title=none+%26+nothing')
    assert.match(
      (await operation('listBooks').getByLabel('Header fields').textContent()) ?? '',
      /^x-total-count: 0$/m,
    )
    await open('readBook')
    await operation('readBook').locator('[name=If-None-Match]').fill('*')
    assert.equal((await send('readBook'))[0], '304 Not Modified')
  })

  it('imports what is typed, in the media type that is chosen, or a file; and cuts a long response', async () => {
    await open('importBooks')
    const [imported, report] = await send('importBooks')
    assert.deepEqual([imported, JSON.parse(report ?? '').data.added], ['200 OK', 1])
    await operation('importBooks').locator('select[name="media type"]').selectOption('application/x-ndjson')
    assert.equal(JSON.parse((await send('importBooks'))[1] ?? '').data.skipped, 1)
    const lines = Array.from({ length: 5000 }, (_, index) => JSON.stringify({ ...BOOK, year: index + 10 }))
    await operation('importBooks')
      .locator('input[type=file]')
      .setInputFiles({ name: 'b.ndjson', mimeType: '', buffer: Buffer.from(lines.join('\n')) })
    assert.equal(JSON.parse((await send('importBooks'))[1] ?? '').data.added, 5000)
    // Unlike --data, it keeps the line breaks of a file.
    assert.match((await operation('importBooks').getByLabel('Command').textContent()) ?? '', /--data-binary/)
    await operation('listBooks').locator('[name=title]').fill('')
    const [, books] = await send('listBooks')
    assert.equal(books?.length, 200_000)
    await operation('listBooks').getByText('The rest is not shown.').waitFor()
  })

  it('keeps what one call has shown while another one is slow', async () => {
    await open('isAlive')
    const held = await page.hold('GET', /healthz/, () =>
      operation('isAlive').getByRole('button', { name: 'Send' }).click(),
    )
    await open('isReady')
    await operation('isReady').getByRole('button', { name: 'Send' }).click()
    await status('isReady').waitFor()
    await held.release()
    await status('isAlive').waitFor()
    assert.equal(await status('isReady').textContent(), '200 OK')
  })

  it('says that the service is away, and keeps what is typed', async () => {
    await page.route(/\/books/, (route) => route.abort())
    await operation('listBooks').getByRole('button', { name: 'Send' }).click()
    await operation('listBooks').getByText('The service is not responding').waitFor()
    assert.equal(await operation('listBooks').locator('[name=count]').inputValue(), 'true')
    await page.unroute(/\/books/)
    assert.equal((await send('listBooks'))[0], '200 OK')
  })

  it('opens the operation that the address names, asks for the password again once the token is refused', async () => {
    await page.evaluate(`for (const key of Object.keys(sessionStorage)) {
      const session = JSON.parse(sessionStorage.getItem(key))
      sessionStorage.setItem(key, JSON.stringify({ ...session, token: 'a.b.c' }))
    }`)
    await page.goto(`${service.url}/docs#countBooks`)
    await page.reload()
    await page.getByText('Logged in as').waitFor()
    assert.match((await send('countBooks'))[1] ?? '', /Invalid token/)
    await page.getByLabel('Password').waitFor()
  })

  it('stays logged in when a call that was sent before the log-in is refused', async () => {
    const held = await page.hold('GET', /statistics/, () =>
      operation('countBooks').getByRole('button', { name: 'Send' }).click(),
    )
    await page.logIn()
    await held.release()
    await operation('countBooks').getByText('Authorization token required').first().waitFor()
    assert.equal((await send('countBooks'))[0], '200 OK')
  })

  it('has the colours of the catalogue in the dark, is accessible, and leads back to it', async () => {
    const other = await openPage(browser, service.url, { colorScheme: 'dark' })
    const background = () => other.evaluate('getComputedStyle(document.documentElement).backgroundColor')
    const catalogue = await background()
    await other.logIn()
    await other.getByRole('button', { name: 'Menu' }).click()
    await other.getByRole('link', { name: 'API' }).click()
    await open('createBook', other)
    await send('createBook', other)
    await operation('createBook', other).getByText('Responses').click()
    assert.equal(await background(), catalogue)
    await other.assertAccessible('docs-dark')
    await other.getByRole('link', { name: 'Catalogue' }).click()
    await other.getByRole('button', { name: 'Menu' }).waitFor()
    await other.context().close()
  })

  it('shares the log-in with the catalogue, in both directions, also with other tabs', async () => {
    const context = await browser.newContext()
    const [docs, catalogue] = [await context.newPage(), equip(await context.newPage())]
    await docs.goto(`${service.url}/docs`)
    await open('logIn', docs)
    await operation('logIn', docs).getByLabel('Body').first().fill(JSON.stringify(ACCOUNT))
    await send('logIn', docs)
    await docs.getByText('Logged in as').waitFor()
    await catalogue.goto(service.url)
    await catalogue.locator('.row .title').first().waitFor()
    await catalogue.chooseInMenu('Log out')
    await docs.getByLabel('Password').waitFor()
    await open('countBooks', docs)
    assert.equal((await send('countBooks', docs))[0], '401 Unauthorized')
    await catalogue.logIn()
    await docs.getByText('Logged in as').waitFor()
    assert.equal((await send('countBooks', docs))[0], '200 OK')
    const third = await context.newPage()
    await third.goto(`${service.url}/docs`)
    await third.getByText('Logged in as').waitFor()
    await docs.getByRole('button', { name: 'Log out' }).click()
    await catalogue.getByLabel('Password').waitFor()
    await context.close()
  })

  it('asks nothing of any other server', () => assert.deepEqual([...requested], [service.url]))
})
