import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { page, usePage } from './page.ts'
import { Relay } from './relay.ts'

/** More bytes than the relay lets through before it cuts. */
const ROWS = 12_000

const SKIP = 'Skip books already in the catalogue'
const LOST = 'Either all books were imported or none'

const rowsOf = (author: string, rows: number) => [
  'title,author,year',
  ...Array.from({ length: rows }, (_, i) => `A book with a title that takes space ${i},${author},${i}`),
]

describe('an import by the web page', { skip: browserMissing }, () => {
  const service = useService()
  let relay: Relay
  beforeEach(async () => {
    relay = await Relay.open(() => service.url)
  })
  usePage(() => relay.url)
  afterEach(() => relay[Symbol.asyncDispose]())

  /** How many books of an author are stored, without the relay. */
  async function stored(author: string): Promise<number> {
    return (await service.listBooks(`author=${author}`)).length
  }

  async function choose(author: string, rows: number): Promise<void> {
    await page.chooseFile(rowsOf(author, rows).join('\n'))
    await page.shows(/\d ready/)
  }

  /** The service may still be busy with what was cut; the page tries again by itself. */
  async function checkAgain(): Promise<void> {
    relay.restore()
    await page.choose('Check again', /\d ready/)
  }

  /** What becomes of the rows. */
  const summary = async () => (await page.locator('#transfer h3').innerText()).trim()

  it('stores nothing when the connection is cut in the middle of the file, and all at the next attempt', async () => {
    await choose('Half', ROWS)
    relay.cut('POST /books/import?dry_run=false', 'sending')
    await page.importButton().click()
    await page.shows(LOST)
    assert.ok(relay.cuts > 0)
    await page.assertAccessible('import-lost')
    assert.equal(await stored('Half'), 0)
    await checkAgain()
    assert.equal(await summary(), '12,000 ready')
    await page.importButton().click()
    await page.shows('Imported 12,000 books.')
    assert.equal(await stored('Half'), ROWS)
  })

  it('stores no book twice when only the response was lost', async () => {
    await page.goto(`${relay.url}/?author=Whole&sort=id`)
    await choose('Whole', 3)
    relay.cut('POST /books/import?dry_run=false', 'answering')
    await page.importButton().click()
    await page.shows(LOST)
    assert.equal(await stored('Whole'), 3)
    await page.showsTitles('A book with a title that takes space 0')
    await checkAgain()
    assert.equal(await summary(), '0 ready · 3 already in the catalogue')
    assert.ok(await page.importButton().isDisabled())
    assert.equal(await stored('Whole'), 3)
  })

  it('passes over the books of an attempt whose response was lost, even if it was told to add copies', async () => {
    await choose('Unsure', 2)
    await page.getByLabel(SKIP).uncheck()
    relay.cut('POST /books/import?dry_run=false', 'answering')
    await page.importButton().click()
    await page.shows(LOST)
    assert.ok(await page.getByLabel(SKIP).isChecked())
    await checkAgain()
    assert.equal(await summary(), '0 ready · 2 already in the catalogue')
  })

  it('stores no book twice when the browser sends the file again by itself', async () => {
    await choose('Again', 3)
    relay.cut('POST /books/import?dry_run=false', 'answering', 1)
    await page.importButton().click()
    await page.shows('All books in the file are in the catalogue.')
    assert.equal(relay.cuts, 1)
    assert.equal(await stored('Again'), 3)
  })

  it('leaves out rows with errors, and says how many these are', async () => {
    await page.chooseFile([...rowsOf('Faulty', 2), ',,', 'T,Faulty,never'].join('\n'))
    await page.shows(/\d ready/)
    assert.equal(await summary(), '2 ready · 1 with errors · 1 empty')
    assert.equal(await page.locator('.faults').isVisible(), false)
    await page.choose('Import 2 books', 'Imported 2 books.')
    assert.equal(await stored('Faulty'), 2)
  })

  it('says why a file cannot be read, until another is chosen', async () => {
    await page.chooseFile('PK\x03\x04')
    await page.shows('save it as CSV in UTF-8')
    await page.chooseFile(Buffer.from('title,author,year\nGr\xfc\xdfe,B,1\n', 'latin1'))
    await page.shows('is not in UTF-8; the file seems to be in another encoding')
    await choose('Readable', 1)
    await page.hides('is not in UTF-8')
  })

  it('adds copies of books that are there only if it is told to', async () => {
    await choose('Copies', 2)
    await page.importButton().click()
    await page.shows('Imported 2 books.')
    await choose('Copies', 2)
    assert.equal(await summary(), '0 ready · 2 already in the catalogue')
    await page.getByLabel(SKIP).uncheck()
    await page.button('Import 2 books').click()
    await page.importButton().waitFor({ state: 'hidden' })
    assert.equal(await stored('Copies'), 4)
  })

  it('says that nothing was stored when the connection is cut during the check', async () => {
    relay.cut('POST /books/import?dry_run=true', 'sending')
    await page.chooseFile(rowsOf('Checked', ROWS).join('\n'))
    await page.shows('Nothing was saved.')
    await page.assertAccessible()
    await checkAgain()
    assert.equal(await stored('Checked'), 0)
  })

  it('says that it was too late to cancel when the books are stored, and offers to delete them', async () => {
    await choose('Late', 3)
    const response = relay.hold('POST /books/import?dry_run=false', 'response')
    await page.importButton().click()
    await page.shows('Storing…')
    await response.arrived
    await page.assertAccessible()
    await page.choose('Cancel import', 'It was too late to cancel. Imported 3 books.')
    response.release()
    assert.equal(await stored('Late'), 3)
    await page.button('Undo import').click()
    await page.choose('Delete 3 books', 'Deleted 3 books.')
    assert.equal(await stored('Late'), 0)
  })

  it('says that the service is busy when it was asked often enough to check a file', async () => {
    let asked = 0
    page.on('request', (request) => {
      if (request.url().includes('dry_run=true')) asked++
    })
    await page.refuse(/dry_run=true/, 503)
    await page.clock.install()
    await page.chooseFile(rowsOf('Busy', 1).join('\n'))
    const told = page.getByText('The service cannot accept the file right now')
    for (; !(await told.isVisible()); await page.clock.runFor(1000)) assert.ok(asked <= 20)
  })

  it('begins when a file is dropped on the page', async () => {
    const path = join(service.directory, 'Dropped.csv')
    writeFileSync(path, rowsOf('Dropped', 2).join('\n'))
    const session = await page.context().newCDPSession(page)
    const data = { items: [], files: [path], dragOperationsMask: 1 }
    const drag = (type: 'dragEnter' | 'dragOver' | 'drop') =>
      session.send('Input.dispatchDragEvent', { type, x: 500, y: 400, data })
    // Chromium passes a drop of the protocol on only if it has heard by then that the page takes it.
    for (let attempt = 0; attempt < 5 && !(await page.locator('#transfer[open]').isVisible()); attempt++) {
      await drag('dragEnter')
      await drag('dragOver')
      await page.waitForTimeout(500)
      await drag('drop')
      await page.waitForTimeout(500)
    }
    await page.shows(/\d ready/)
    assert.equal(await page.locator('.dragging').count(), 0)
    await drag('dragEnter')
    await drag('dragOver')
    await page.locator('.dragging .drop').waitFor()
    await page.assertAccessible('drop-zone')
    // The protocol has no way to leave the window.
    await page.evaluate(`dispatchEvent(new DragEvent('dragleave'))`)
    await page.locator('.dragging').waitFor({ state: 'detached' })
    assert.equal(await page.locator('#transfer b').textContent(), 'Dropped.csv')
    await page.importButton().click()
    await page.shows('Imported 2 books.')
    assert.equal(await stored('Dropped'), 2)
  })
})
