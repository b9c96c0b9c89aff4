import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { before, describe, it } from 'node:test'
import { browserMissing, useBrowser } from '../support/browser.ts'
import { ACCOUNT } from '../support/service.ts'
import { useService } from '../support/use-service.ts'
import { type CataloguePage, openPage, openTab } from './page.ts'

const BOOK = { title: `<img src=x> $HOME 'quoted'`, author: 'A', year: 1 }

describe('/docs in a browser', { skip: browserMissing }, () => {
  const service = useService()
  const browser = useBrowser()
  let page: CataloguePage

  before(async () => {
    page = await openPage(browser(), `${service.url}/docs`)
    await page.locator('#listBooks').waitFor()
  })

  const operation = (id: string) => page.locator(`#${id}`)
  const open = (id: string) => operation(id).locator('> summary').click()
  const status = (id: string) => operation(id).locator('h3')
  const press = (id: string) => operation(id).getByRole('button', { name: 'Send' }).click()

  /** Sends what the form of the operation holds. @returns the status and the body that are shown. */
  async function send(id: string): Promise<[status: string | null, body: string]> {
    await Promise.all([page.waitForResponse((one) => one.request().resourceType() === 'fetch'), press(id)])
    await operation(id).getByRole('button', { name: 'Send', disabled: false }).waitFor()
    const body = await operation(id).getByLabel('Body').last().textContent()
    return [await status(id).textContent(), body ?? '']
  }

  it('lists all operations, fills in nothing that narrows the list or names what a call changes, and says what is refused', async () => {
    assert.equal(await page.locator('section > details').count(), 10)
    for (const [id, expected] of [
      ['listBooks', Array(9).fill('')],
      ['readBook', ['1', '', '']],
      ['deleteBook', ['', '', '']],
    ] as const) {
      const inputs = await operation(id).locator('form input').all()
      assert.deepEqual(await Promise.all(inputs.map((input) => input.inputValue())), expected, id)
    }
    await open('listBooks')
    const [refused, body] = await send('listBooks')
    assert.match(`${refused} ${body}`, /^401 Unauthorized .*Authorization token required/s)
    await operation('listBooks').locator('button:focus').waitFor()
    await page.getByLabel('Username').fill(ACCOUNT.username)
    await page.getByLabel('Password').fill('another')
    await page.button('Log in').click()
    await page.getByRole('alert').getByText('Invalid credentials').waitFor()
  })

  it('sends the token once a person has logged in, shows HTML in a book as text, and the call as a command of a shell', async () => {
    await open('countBooks')
    const held = await page.hold('GET', /statistics/, () => press('countBooks'))
    await page.logIn()
    await held.release()
    // The refusal of a call that was sent before ends nothing.
    await operation('countBooks').getByText('Authorization token required').first().waitFor()
    await page.shows(`Logged in as ${ACCOUNT.username}`)
    assert.equal(await page.locator('main > .error').textContent(), '')
    await open('createBook')
    for (const id of ['createBook', 'updateBook']) {
      const field = await operation(id).locator('tr', { hasText: 'author' }).first().textContent()
      assert.equal(/optional/.test(field ?? ''), id === 'updateBook')
    }
    await operation('createBook').getByLabel('Body').first().fill(JSON.stringify(BOOK))
    const [created, body] = await send('createBook')
    assert.equal(created, '201 Created')
    assert.partialDeepStrictEqual(JSON.parse(body), { data: BOOK })
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

  it('is accessible, also in the dark', async () => {
    await operation('createBook').getByText('Responses').click()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.assertAccessible(`docs-${colorScheme}`)
    }
  })

  it('sends parameters in the path, the query and the header, and only those that are filled in', async () => {
    await operation('listBooks').locator('[name=title]').fill('none & nothing')
    await operation('listBooks').locator('[name=count]').selectOption('true')
    const [request] = await Promise.all([page.waitForRequest(/\/books\?/), send('listBooks')])
    assert.equal(new URL(request.url()).search, '?count=true&title=none+%26+nothing')
    assert.match(
      (await operation('listBooks').getByLabel('Header fields').textContent()) ?? '',
      /^x-total-count: 0$/m,
    )
    await open('readBook')
    await operation('readBook').locator('[name=If-None-Match]').fill('*')
    assert.equal((await send('readBook'))[0], '304 Not Modified')
    // The browser sends no such header, and says so beside the field.
    await operation('readBook').locator('[name=If-None-Match]').fill('“*”')
    await press('readBook')
    await operation('readBook').locator('[name=If-None-Match]:invalid:focus').waitFor()
    assert.equal(await status('readBook').textContent(), '304 Not Modified')
  })

  it('imports what is typed, in the media type that is chosen, or a file; and cuts a long response', async () => {
    await open('importBooks')
    const [imported, report] = await send('importBooks')
    assert.deepEqual([imported, JSON.parse(report).data.added], ['200 OK', 1])
    await operation('importBooks').locator('select[name="media type"]').selectOption('application/x-ndjson')
    assert.equal(JSON.parse((await send('importBooks'))[1]).data.skipped, 1)
    const file = operation('importBooks').locator('input[type=file]')
    await file.setInputFiles({ name: 'empty.ndjson', mimeType: '', buffer: Buffer.alloc(0) })
    assert.equal(JSON.parse((await send('importBooks'))[1]).data.rows, 0)
    const lines = Array.from({ length: 5000 }, (_, index) => JSON.stringify({ ...BOOK, year: index + 10 }))
    await file.setInputFiles({ name: 'b.ndjson', mimeType: '', buffer: Buffer.from(lines.join('\n')) })
    assert.equal(JSON.parse((await send('importBooks'))[1]).data.added, 5000)
    // Unlike --data, it keeps the line breaks of a file.
    assert.match((await operation('importBooks').getByLabel('Command').textContent()) ?? '', /--data-binary/)
    await operation('listBooks').locator('[name=title]').fill('')
    const [, books] = await send('listBooks')
    assert.equal(books?.length, 200_000)
    await operation('listBooks').getByText('The rest is not shown.').waitFor()
  })

  it('keeps what one call has shown while another one is slow, and what is typed while the service is away', async () => {
    await open('isAlive')
    const held = await page.hold('GET', /healthz/, () => press('isAlive'))
    const sent: string[] = []
    page.on('request', (request) => sent.push(new URL(request.url()).pathname))
    // Pressing it again sends no second call.
    await page.keys('Enter')
    await open('isReady')
    await press('isReady')
    await status('isReady').waitFor()
    assert.deepEqual(sent, ['/readyz'])
    await held.release()
    await status('isAlive').waitFor()
    assert.equal(await status('isReady').textContent(), '200 OK')
    // The service is away.
    await page.route(/\/books/, (route) => route.abort(), { times: 1 })
    await press('listBooks')
    await operation('listBooks').getByText('The service is not responding').waitFor()
    assert.equal(await operation('listBooks').locator('[name=count]').inputValue(), 'true')
    assert.equal((await send('listBooks'))[0], '200 OK')
  })

  it('says that it cannot read the document', async () => {
    await page.route('**/openapi.json', (route) => route.abort(), { times: 1 })
    await page.reload()
    await page.shows('The service is not responding. Try again in a moment.')
  })

  it('opens the operation that the address names, asks for the password again once the token is refused', async () => {
    await page.evaluate(`for (const key of Object.keys(sessionStorage)) {
      const session = JSON.parse(sessionStorage.getItem(key))
      sessionStorage.setItem(key, JSON.stringify({ ...session, token: 'a.b.c' }))
    }`)
    await page.goto(`${service.url}/docs#countBooks`)
    await page.reload()
    await page.shows('Logged in as')
    assert.match((await send('countBooks'))[1], /Invalid token/)
    await page.getByLabel('Password').waitFor()
    await page.logIn()
    assert.equal((await send('countBooks'))[0], '200 OK')
  })

  it('shares the log-in with the catalogue, in both directions, also with other tabs', async () => {
    const catalogue = await openTab(page, service.url)
    await catalogue.locator('.row .title').first().waitFor()
    await catalogue.chooseInMenu('Log out')
    await page.getByLabel('Password').waitFor()
    assert.equal((await send('countBooks'))[0], '401 Unauthorized')
    await catalogue.logIn()
    await page.shows('Logged in as')
    assert.equal((await send('countBooks'))[0], '200 OK')
    await page.button('Log out').click()
    await catalogue.getByLabel('Password').waitFor()
    await open('logIn')
    await operation('logIn').getByLabel('Body').first().fill(JSON.stringify(ACCOUNT))
    await send('logIn')
    await page.shows('Logged in as')
    await catalogue.locator('.row .title').first().waitFor()
  })
})
