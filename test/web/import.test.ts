import assert from 'node:assert/strict'
import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { Route } from 'playwright-core'
import { browserMissing } from '../support/browser.ts'
import { temporaryDirectory } from '../support/service.ts'
import { useService } from '../support/use-service.ts'
import { page, usePage } from './page.ts'

const CHECK = /dry_run=true/
const IMPORT = /dry_run=false/

const SKIP = 'Skip books already in the catalogue'
const LOST = 'Either all books were imported or none'

const rowsOf = (author: string, rows: number) =>
  ['title,author,year', ...Array.from({ length: rows }, (_, i) => `${author} ${i},${author},${i}`)].join('\n')

describe('an import by the web page', { skip: browserMissing }, () => {
  const service = useService()
  usePage(() => service.url)

  /** How many books of an author are stored. */
  const stored = async (author: string) => (await service.listBooks(`author=${author}`)).length

  async function choose(author: string, rows: number): Promise<void> {
    await page.chooseFile(rowsOf(author, rows))
    await page.shows(/\d ready/)
  }

  const checkAgain = () => page.choose('Check again', /\d ready/)

  /** Imports the file, and does this to the request. */
  async function importAnd(handler: (route: Route) => Promise<unknown>): Promise<void> {
    await page.route(IMPORT, handler, { times: 1 })
    await page.importButton().click()
  }

  /** What becomes of the rows. */
  const summary = async () => (await page.locator('#transfer h3').innerText()).trim()

  it('can be tried again when the connection was lost, and adds copies only if it is told to', async () => {
    await page.goto(`${service.url}/?author=Lost&sort=id`)
    await page.route(CHECK, (route) => route.abort(), { times: 1 })
    await page.chooseFile(rowsOf('Lost', 3))
    await page.shows('Nothing was saved.')
    await checkAgain()
    await importAnd((route) => route.abort())
    await page.shows(LOST)
    await page.assertAccessible('import-lost')
    await checkAgain()
    await page.choose('Import 3 books', 'Imported 3 books.')
    await choose('Lost', 3)
    assert.equal(await summary(), '0 ready · 3 already in the catalogue')
    assert.equal(await stored('Lost'), 3)
    await page.getByLabel(SKIP).uncheck()
    // Only the response is lost.
    await importAnd(async (route) => {
      await route.fetch()
      await route.abort()
    })
    await page.shows(LOST)
    await page.showsTitles('Lost 0', 'Lost 1', 'Lost 2', 'Lost 0')
    await checkAgain()
    assert.equal(await summary(), '0 ready · 3 already in the catalogue')
    assert.ok(await page.importButton().isDisabled())
    assert.equal(await stored('Lost'), 6)
  })

  it('stores no book twice when the browser sends the file again by itself', async () => {
    await choose('Again', 3)
    await importAnd(async (route) => {
      await route.fetch()
      await route.continue()
    })
    await page.shows('The books that were ready to import are in the catalogue.')
    assert.equal(await stored('Again'), 3)
  })

  it('deletes first what can still be undone, and so stores the same book again', async () => {
    await service.createBook({ title: 'Twice 0', author: 'Twice', year: 0 })
    await page.list(`${service.url}/?author=Twice`, 'Twice 0')
    await page.keepNotices()
    await page.deleteBook('Twice 0')
    await choose('Twice', 1)
    assert.equal(await summary(), '1 ready')
    await page.choose('Import 1 book', 'Imported 1 book.')
    assert.equal(await stored('Twice'), 1)
    await page.showsTitles('Twice 0')
  })

  it('stores nothing of a file that has changed since it was chosen, and reads it when it is chosen again', async (t: TestContext) => {
    const directory = temporaryDirectory()
    t.after(directory.remove)
    const path = join(directory.path, 'books.csv')
    const session = await page.context().newCDPSession(page)
    /** As the browser does. Playwright would send the event of a change even if there was none. */
    async function chooseIt(): Promise<void> {
      await Promise.all([page.waitForEvent('filechooser'), page.getByLabel('File').click()])
      const expression = `document.querySelector('#transfer [type=file]')`
      const { objectId } = (await session.send('Runtime.evaluate', { expression })).result
      await session.send('DOM.setFileInputFiles', { files: [path], ...(objectId && { objectId }) })
    }
    writeFileSync(path, `${rowsOf('Corrected', 1)}\nT,Corrected,never`)
    await page.chooseInMenu('Import…')
    await chooseIt()
    await page.shows('1 ready')
    writeFileSync(path, rowsOf('Corrected', 2))
    // Browsers compare whole seconds.
    utimesSync(path, 1, 1)
    await page.choose('Import 1 book', 'has changed since you chose it')
    assert.equal(await stored('Corrected'), 0)
    await chooseIt()
    await page.shows('2 ready')
    utimesSync(path, 2, 2)
    await page.getByLabel(SKIP).uncheck()
    await page.shows('has changed since you chose it')
    assert.equal(await page.getByText('2 ready').count(), 0)
  })

  it('says why a file cannot be read, until another is chosen', async () => {
    await page.chooseFile('PK\x03\x04')
    await page.shows('save it as CSV in UTF-8')
    await page.chooseFile(Buffer.from('title,author,year\nGr\xfc\xdfe,B,1\n', 'latin1'))
    await page.shows('is not in UTF-8; the file seems to be in another encoding')
    // Where one can choose it.
    await page.locator('.preview').waitFor()
    await choose('Readable', 1)
    await page.hides('is not in UTF-8')
  })

  it('says that it was too late to cancel when the books are stored, and offers to delete them', async () => {
    await choose('Late', 3)
    const response = await page.hold('POST', IMPORT, () => page.importButton().click())
    await page.choose('Cancel import', 'It was too late to cancel. Imported 3 books.')
    await response.release()
    assert.equal(await stored('Late'), 3)
    await page.button('Undo import').click()
    await page.choose('Delete 3 books', 'Deleted 3 books.')
    assert.equal(await stored('Late'), 0)
  })

  it('says that the service is busy when it was asked often enough to check a file', async () => {
    let asked = 0
    await page.refuse(CHECK, 503)
    page.on('request', (request) => CHECK.test(request.url()) && asked++)
    await page.clock.install()
    await page.chooseFile(rowsOf('Busy', 1))
    const told = page.getByText('The service cannot accept the file right now')
    for (; !(await told.isVisible()); await page.clock.runFor(1000)) assert.ok(asked <= 20)
  })

  it('begins when a file is dropped on the page, and leaves out rows with errors', async () => {
    const FILE = `new File(['title,author,year\\nA,Dropped,1\\nB,Dropped,never'], 'Dropped.csv')`
    const TWO = `${FILE}); dataTransfer.items.add(${FILE}`
    const TEXT = `'A text', 'text/plain'`
    /** @returns whether the browser does what it does by itself, such as showing the file. */
    const drag = (type: string, what = FILE, where = 'body') =>
      page.evaluate(`{
        const dataTransfer = new DataTransfer()
        dataTransfer.items.add(${what})
        document.querySelector('${where}').dispatchEvent(new DragEvent('${type}', { dataTransfer, cancelable: true, bubbles: true }))
      }`)
    for (const type of ['dragover', 'drop'])
      assert.deepEqual([await drag(type, TEXT), await drag(type, TEXT, '.q input')], [false, true])
    assert.equal(await drag('dragover', FILE, '.q input'), false)
    await page.locator('.dragging').waitFor()
    await drag('dragleave')
    await page.locator('.dragging').waitFor({ state: 'detached' })
    await drag('drop', TWO)
    await page.shows('Drop one file at a time.')
    await page.chooseInMenu('Import…')
    await drag('dragover')
    await page.locator('.dragging .drop').waitFor()
    await page.assertAccessible('drop-zone')
    assert.equal(await drag('drop'), false)
    assert.equal(await page.locator('.dragging').count(), 0)
    await page.shows('Dropped.csv')
    await page.shows('1 with errors')
    const held = await page.hold('POST', IMPORT, () => page.button('Import 1 book').click())
    await drag('drop')
    await page.shows('Another import is still running.')
    await page.button('Close').click()
    await page.chooseInMenu('Import…')
    await page.locator('.drop', { hasText: 'Dropped.csv' }).waitFor()
    await held.release()
    await page.shows('Imported 1 book.')
    assert.equal(await stored('Dropped'), 1)
    // Not above the question for the password.
    await page.refuse(/q=dropped/, 401, 1)
    await page.search('dropped')
    await page.shows('Session expired')
    await drag('drop')
    await page.enterPassword()
    assert.equal(await page.dialog().count(), 0)
  })
})
