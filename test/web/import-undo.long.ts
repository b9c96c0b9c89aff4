import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { page, usePage } from './page.ts'

const CHECK = /dry_run=true/
const IMPORT = /dry_run=false/
const BOOK = /\/book\/\d+$/

describe('an import that the user of the web page takes back', { skip: browserMissing }, () => {
  const service = useService()
  usePage(() => service.url)

  /** The ids of the books of an author. */
  const stored = async (author: string) => (await service.listBooks(`author=${author}`)).map(({ id }) => id)

  async function choose(author: string, rows: number): Promise<void> {
    const lines = Array.from({ length: rows }, (_, i) => `${author} ${i},${author},${i}`)
    await page.chooseFile(['title,author,year', ...lines].join('\n'), `${author}.csv`)
    await page.shows(/\d ready/)
  }

  async function importBooks(author: string, rows: number): Promise<void> {
    await choose(author, rows)
    await page.importButton().click()
    await page.shows(`Imported ${rows} book`)
  }

  async function undo(count: number): Promise<void> {
    await page.button('Undo import').click()
    await page.button(`Delete ${count} books`).click()
  }

  it('stores nothing when it is cancelled while the file is sent, and all at the next attempt', async () => {
    await choose('Cancelled', 12_000)
    const session = await page.context().newCDPSession(page)
    const limitUpload = (uploadThroughput: number) =>
      session.send('Network.emulateNetworkConditions', {
        ...{ offline: false, latency: 0, downloadThroughput: -1 },
        uploadThroughput,
      })
    await limitUpload(10_000)
    await page.importButton().click()
    await page.shows(/^Sending… [1-9]\d?%$/)
    await page.keys('Escape')
    const notice = page.locator('.notice', { hasText: 'Importing “Cancelled.csv”…' })
    await notice.locator('progress:not(:indeterminate)').waitFor()
    await page.assertAccessible('import-goes-on')
    await page.button('Open').click()
    assert.equal(await notice.count(), 0)
    await page.assertAccessible('import-sending')
    await page.choose('Cancel import', 'Import cancelled. Nothing was imported.')
    assert.deepEqual(await stored('Cancelled'), [])
    await limitUpload(-1)
    await page.importButton().click()
    await page.shows('Imported 12,000 books.')
    assert.equal((await stored('Cancelled')).length, 12_000)
    assert.equal(await page.button('Undo import').count(), 0)
  })

  it('can be cancelled while the file is checked, and before it is sent, while the page makes sure of its token', async () => {
    const response = await page.hold('POST', CHECK, () => page.chooseFile('title,author,year\nT,Unsent,1'))
    await page.choose('Cancel check', 'Check cancelled.')
    assert.equal(await page.locator('#transfer .error').textContent(), '')
    await response.release()
    await page.choose('Check again', /\d ready/)
    const held = await page.hold('GET', /\/books\?limit=1$/, () => page.importButton().click())
    await page.button('Cancel import').click()
    await held.release()
    await page.shows('Import cancelled. Nothing was imported.')
    assert.deepEqual(await stored('Unsent'), [])
  })

  it('shows what is left of what it has added, and is offered to be undone until that is done or dismissed', async () => {
    await page.search('something')
    await importBooks('Before', 1)
    await importBooks('Shown', 4)
    assert.equal(await page.button('Undo import').count(), 1)
    await page.assertAccessible('imported')
    await page.button('Undo import').click()
    // What belongs to the page is not offered in a dialog.
    assert.equal(await page.button('Show').count(), 0)
    await page.button('Cancel').click()
    assert.equal((await stored('Shown')).length, 4)
    await page.search('shown', 'Shown 0')
    await page.openBook('Shown 1', { Year: '1977' })
    await page.choose('Save', 'Saved “Shown 1”.')
    await page.deleteBook('Shown 0')
    await page.button('Show').click()
    await page.showsTitles('Shown 3', 'Shown 2', 'Shown 1', 'Before 0')
    await page.showsExactly('3 selected')
    const [file] = await Promise.all([page.waitForEvent('download'), page.button('Export CSV').click()])
    assert.match(readFileSync(await file.path(), 'utf8'), /"Shown 1","Shown","1977"/)
    await page.button('Undo import').click()
    await page.button('Delete 4 books').click()
    await page.shows('Kept 1 book that someone else has changed.')
    await page.button('Close').click()
    assert.equal(await page.getByText('Imported 4 books.').count(), 0)
    assert.equal((await stored('Shown')).length, 1)
  })

  it('deletes the books that it has added and nobody has changed, and no others', async () => {
    const kept = await service.createBook({ title: 'Kept', author: 'Before', year: 1 })
    await page.goto(`${service.url}/?author=Undone`)
    await choose('Undone', 21)
    await service.createBook({ title: 'Undone 20', author: 'Undone', year: 20 })
    await page.choose('Import 21 books', 'Imported 20 books.')
    const [others = 0, first = 0, second = 0] = await stored('Undone')
    await service.updateBook(first, { year: 5 })
    await service.deleteBook(second)
    await page.choose('Undo import', 'This deletes the 20 books added from “Undone.csv”.')
    await page.assertAccessible('undo-import')
    await page.choose('Delete 20 books', /^Deleted 18 books\. Kept 1 book .* 1 book was already deleted\.$/)
    await page.button('Close').click()
    assert.deepEqual(await stored('Undone'), [others, first])
    assert.equal((await service.readBook(kept)).title, 'Kept')
    await page.showsExactly('2 books')
  })

  it('goes on without its dialog while its books are deleted, can be stopped, and says how many are left', async () => {
    await importBooks('Stopped', 60)
    const released = Promise.withResolvers<void>()
    await page.route(BOOK, async (route) => {
      if (route.request().method() === 'DELETE' && (await stored('Stopped')).length < 40)
        await released.promise
      await route.fallback()
    })
    await undo(60)
    await page.shows(/^[1-9]\d* of 60 books$/)
    await page.assertAccessible('undo-import-running')
    await page.escape()
    const notice = page.locator('.notice', { hasText: 'Deleting 60 books…' })
    const part = await notice
      .getByRole('progressbar')
      .evaluate((bar) => (bar as unknown as { value: number }).value)
    assert.ok(part > 0 && part < 1, String(part))
    await page.button('Open').click()
    assert.equal(await notice.count(), 0)
    await page.button('Stop').click()
    released.resolve()
    const result = page.getByText(/^Deleted \d+ books\. Stopped: \d+ books left\.$/)
    await result.waitFor()
    const [, deleted, left] = /(\d+) books\. Stopped: (\d+)/.exec((await result.textContent()) ?? '') ?? []
    assert.equal(Number(deleted) + Number(left), 60)
    assert.equal((await stored('Stopped')).length, Number(left))
    await page.button('Close').click()
    await page.button('Show').click()
    await page.showsExactly(`${left} selected`)
    await undo(Number(left))
    await page.shows(`Deleted ${left} books.`)
    assert.deepEqual(await stored('Stopped'), [])
  })

  it('goes on when its dialog is closed, and is not offered to be undone if others have added a book', async () => {
    await choose('Mixed', 3)
    const response = await page.hold('POST', IMPORT, () => page.importButton().click())
    await page.button('Close').click()
    await page.shows('Importing “Mixed.csv”…')
    await service.createBook({ title: 'Mixed in', author: 'Other', year: 1 })
    await response.release()
    await page.shows('Imported 3 books.')
    assert.equal(await page.getByText('Importing').count(), 0)
    assert.equal(await page.button('Undo import').count(), 0)
    await page.button('Show').click()
    await page.showsTitles('Mixed in', 'Mixed 2')
  })
})
