import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Route } from 'playwright-core'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { CHECK, IMPORT, page, rowsOf, usePage } from './page.ts'

const SKIP = 'Skip books already in the catalogue'
const LOST = 'Either all books were imported or none'

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
})
