import assert from 'node:assert/strict'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import {
  assertAccessible,
  button,
  chooseInMenu,
  importButton,
  page,
  screenshot,
  usePage,
  waitForTitles,
} from './page.ts'
import { Relay } from './relay.ts'

/** More bytes than the relay lets through before it cuts. */
const ROWS = 12_000

describe('an import by the web page', { skip: browserMissing }, () => {
  const service = useService()
  let relay: Relay
  beforeEach(async () => {
    relay = await Relay.open(() => service.url)
  })
  usePage(() => relay.url)
  afterEach(() => relay[Symbol.asyncDispose]())

  /** A file of books by an author. */
  function file(author: string, rows: number): string {
    const path = join(service.directory, `${author}.csv`)
    const lines = Array.from(
      { length: rows },
      (_, i) => `A book with a title that takes space ${i},${author},${i}`,
    )
    writeFileSync(path, ['title,author,year', ...lines].join('\n'))
    return path
  }

  /** How many books of an author are stored, without the relay. */
  async function stored(author: string): Promise<number> {
    const headers = { authorization: service.token }
    const response = await fetch(`${service.url}/books?limit=1&count=true&author=${author}`, { headers })
    return Number(response.headers.get('x-total-count'))
  }

  async function choose(path: string): Promise<void> {
    await chooseInMenu(page, 'Import…')
    await page.getByLabel('File').setInputFiles(path)
    await page.getByText(/\d ready/).waitFor()
  }

  /** The service may still be busy with what was cut; the page tries again by itself. */
  async function checkAgain(): Promise<void> {
    await button('Check again').click()
    await page.getByText(/\d ready/).waitFor()
  }

  /** What becomes of the rows. */
  const summary = async () => (await page.locator('#transfer h3').innerText()).trim()

  it('stores nothing when the connection is cut in the middle of the file, and all at the next attempt', async () => {
    await choose(file('Half', ROWS))
    relay.cut('POST /books/import?dry_run=false', 'sending')
    await importButton().click()
    await page.getByText('Either all books were imported or none').waitFor()
    assert.ok(relay.cuts > 0)
    await assertAccessible(page, 'import-lost')
    assert.equal(await stored('Half'), 0)
    relay.restore()
    await checkAgain()
    assert.equal(await summary(), '12,000 ready')
    await importButton().click()
    await page.getByText('Imported 12,000 books.').waitFor()
    assert.equal(await stored('Half'), ROWS)
  })

  it('stores no book twice when only the response was lost', async () => {
    await page.goto(`${relay.url}/?author=Whole&sort=id`)
    await choose(file('Whole', 3))
    relay.cut('POST /books/import?dry_run=false', 'answering')
    await importButton().click()
    await page.getByText('Either all books were imported or none').waitFor()
    assert.equal(await stored('Whole'), 3)
    await waitForTitles(page, ['A book with a title that takes space 0'])
    relay.restore()
    await checkAgain()
    assert.equal(await summary(), '0 ready · 3 already in the catalogue')
    assert.ok(await importButton().isDisabled())
    assert.equal(await stored('Whole'), 3)
  })

  it('stores no book twice when the browser sends the file again by itself', async () => {
    await choose(file('Again', 3))
    relay.cut('POST /books/import?dry_run=false', 'answering', 1)
    await importButton().click()
    await page.getByText('All books in the file are in the catalogue.').waitFor()
    assert.equal(relay.cuts, 1)
    assert.equal(await stored('Again'), 3)
  })

  it('leaves out rows with errors, and says how many these are', async () => {
    const path = file('Faulty', 2)
    appendFileSync(path, '\n,,\nT,Faulty,never\n')
    await choose(path)
    assert.equal(await summary(), '2 ready · 1 with errors · 1 empty')
    assert.equal(await page.locator('.faults').isVisible(), false)
    await button('Import 2 books').click()
    await page.getByText('Imported 2 books.').waitFor()
    assert.equal(await stored('Faulty'), 2)
  })

  it('reads JSON', async () => {
    const path = join(service.directory, 'list.json')
    writeFileSync(path, '[{"title":"T","author":"Json","year":1}]')
    await choose(path)
    await page.getByText('1 row, JSON.').waitFor()
    await importButton().click()
    await page.getByText('Imported 1 book.').waitFor()
    assert.equal(await stored('Json'), 1)
  })

  it('adds copies of books that are there only if it is told to', async () => {
    const path = file('Copies', 2)
    await choose(path)
    await importButton().click()
    await page.getByText('Imported 2 books.').waitFor()
    await choose(path)
    assert.equal(await summary(), '0 ready · 2 already in the catalogue')
    await page.getByLabel('Skip books already in the catalogue').uncheck()
    await button('Import 2 books').click()
    await importButton().waitFor({ state: 'hidden' })
    assert.equal(await stored('Copies'), 4)
  })

  it('passes over the books of an attempt whose answer was lost, even if it was told to add copies', async () => {
    const box = page.getByLabel('Skip books already in the catalogue')
    await choose(file('Unsure', 2))
    await box.uncheck()
    relay.cut('POST /books/import?dry_run=false', 'answering')
    await importButton().click()
    await page.getByText('Either all books were imported or none').waitFor()
    assert.ok(await box.isChecked())
    relay.restore()
    await checkAgain()
    assert.equal(await summary(), '0 ready · 2 already in the catalogue')
  })

  it('says that nothing was stored when the connection is cut during the check', async () => {
    relay.cut('POST /books/import?dry_run=true', 'sending')
    await chooseInMenu(page, 'Import…')
    await page.getByLabel('File').setInputFiles(file('Checked', ROWS))
    await page.getByText('Nothing was saved.').waitFor()
    await assertAccessible(page)
    relay.restore()
    await checkAgain()
    assert.equal(await stored('Checked'), 0)
  })

  it('says that the service is busy when it was asked often enough to check a file', async () => {
    let asked = 0
    await page.route(/dry_run=true/, (route) => {
      asked++
      return route.fulfill({ status: 503, json: { status: 503, message: 'Service unavailable', data: null } })
    })
    await page.clock.install()
    await chooseInMenu(page, 'Import…')
    await page.getByLabel('File').setInputFiles(file('Busy', 1))
    const told = page.getByText('The service cannot accept the file right now')
    for (; !(await told.isVisible()); await page.clock.runFor(1000)) assert.ok(asked <= 20)
  })

  it('begins when a file is dropped on the page', async () => {
    await page.goto(`${relay.url}/?author=Dropped&sort=id`)
    const session = await page.context().newCDPSession(page)
    const data = { items: [], files: [file('Dropped', 2)], dragOperationsMask: 1 }
    const dialog = page.locator('#transfer[open]')
    // Chromium passes a drop of the protocol on only if it has heard by then that the page takes it.
    for (let attempt = 0; attempt < 5 && !(await dialog.isVisible()); attempt++) {
      for (const type of ['dragEnter', 'dragOver'] as const)
        await session.send('Input.dispatchDragEvent', { type, x: 500, y: 400, data })
      await page
        .locator('.dragging')
        .waitFor({ timeout: 1000 })
        .catch(() => {})
      if (attempt === 0) await screenshot(page, 'dragging')
      await session.send('Input.dispatchDragEvent', { type: 'drop', x: 500, y: 400, data })
      await dialog.waitFor({ timeout: 1000 }).catch(() => {})
    }
    await page.getByText(/\d ready/).waitFor()
    assert.equal(await page.locator('.dragging').count(), 0)
    await session.send('Input.dispatchDragEvent', { type: 'dragEnter', x: 500, y: 400, data })
    await session.send('Input.dispatchDragEvent', { type: 'dragOver', x: 500, y: 400, data })
    await page.locator('.dragging .drop').waitFor()
    await assertAccessible(page, 'drop-zone')
    // The protocol has no way to leave the window.
    await page.evaluate(`dispatchEvent(new DragEvent('dragleave'))`)
    await page.locator('.dragging').waitFor({ state: 'detached' })
    assert.equal(await page.locator('#transfer b').textContent(), 'Dropped.csv')
    await importButton().click()
    await page.getByText('Imported 2 books.').waitFor()
    assert.equal(await stored('Dropped'), 2)
    await waitForTitles(page, ['A book with a title that takes space 0'])
  })
})
