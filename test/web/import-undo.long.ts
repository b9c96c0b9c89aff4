import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import {
  assertAccessible,
  button,
  chooseInMenu,
  holdResponse,
  importButton,
  page,
  titles,
  usePage,
  waitForTitles,
} from './page.ts'
import { Relay } from './relay.ts'

describe('an import that the user of the web page takes back', { skip: browserMissing }, () => {
  const service = useService()
  let relay: Relay
  beforeEach(async () => {
    relay = await Relay.open(() => service.url)
  })
  usePage(() => relay.url)
  afterEach(() => relay[Symbol.asyncDispose]())

  const headers = () => ({ authorization: service.token })

  /** The ids of the books of an author. */
  async function stored(author: string): Promise<number[]> {
    const response = await fetch(`${service.url}/books?author=${author}`, { headers: headers() })
    return ((await response.json()) as { data: { id: number }[] }).data.map(({ id }) => id)
  }

  async function choose(author: string, rows: number): Promise<void> {
    const path = join(service.directory, `${author}.csv`)
    const lines = Array.from({ length: rows }, (_, i) => `${author} ${i},${author},${i}`)
    writeFileSync(path, ['title,author,year', ...lines].join('\n'))
    await chooseInMenu(page, 'Import…')
    await page.getByLabel('File').setInputFiles(path)
    await page.getByText(/\d ready/).waitFor()
  }

  async function importBooks(author: string, rows: number): Promise<void> {
    await choose(author, rows)
    await importButton().click()
    await page.getByText(`Imported ${rows} book`).waitFor()
  }

  it('stores nothing when it is cancelled while the file is sent, and all at the next attempt', async () => {
    await choose('Cancelled', 12_000)
    const session = await page.context().newCDPSession(page)
    const slow = { offline: false, latency: 0, downloadThroughput: -1 }
    await session.send('Network.emulateNetworkConditions', { ...slow, uploadThroughput: 10_000 })
    await importButton().click()
    await page.getByText(/^Sending… [1-9]\d?%$/).waitFor()
    await page.keyboard.press('Escape')
    const bar = page.locator('.notice').getByRole('progressbar')
    await bar.waitFor()
    assert.ok(await bar.evaluate((element) => element.matches(':not(:indeterminate)')))
    await button('Open').click()
    await assertAccessible(page, 'import-sending')
    await button('Cancel import').click()
    await page.getByText('Import cancelled. Nothing was imported.').waitFor()
    await assertAccessible(page, 'import-cancelled')
    assert.deepEqual(await stored('Cancelled'), [])
    await session.send('Network.emulateNetworkConditions', { ...slow, uploadThroughput: -1 })
    await importButton().click()
    await page.getByText('Imported 12,000 books.').waitFor()
    assert.equal((await stored('Cancelled')).length, 12_000)
    assert.equal(await button('Undo import').count(), 0)
  })

  it('says that it was too late to cancel when the books are stored, and offers to delete them', async () => {
    await choose('Late', 3)
    const response = relay.hold('POST /books/import?dry_run=false', 'response')
    await importButton().click()
    await page.getByText('Storing…').waitFor()
    await response.arrived
    await assertAccessible(page)
    await button('Cancel import').click()
    await page.getByText('It was too late to cancel. Imported 3 books.').waitFor()
    response.release()
    assert.equal((await stored('Late')).length, 3)
    await button('Undo import').click()
    await button('Delete 3 books').click()
    await page.getByText('Deleted 3 books.').waitFor()
    assert.deepEqual(await stored('Late'), [])
  })

  it('can be cancelled while the file is checked', async () => {
    const response = relay.hold('POST /books/import?dry_run=true', 'response')
    const path = join(service.directory, 'checked.csv')
    writeFileSync(path, 'title,author,year\nT,Checked,1')
    await chooseInMenu(page, 'Import…')
    await page.getByLabel('File').setInputFiles(path)
    await response.arrived
    await button('Cancel check').click()
    await page.getByText('Check cancelled.').waitFor()
    assert.equal(await page.locator('#transfer .error').textContent(), '')
    await assertAccessible(page)
    response.release()
    await button('Check again').click()
    await page.getByText(/\d ready/).waitFor()
  })

  it('is not sent when it was cancelled before, while the page made sure of its token', async () => {
    await choose('Unsent', 3)
    const held = await holdResponse(page, 'GET', /\/books\?limit=1$/)
    let sent = 0
    page.on('request', (request) => {
      if (request.url().includes('dry_run=false')) sent++
    })
    await importButton().click()
    await held.answered
    await button('Cancel import').click()
    // The page does not read this response to its end, which `release` would wait for.
    void held.release()
    await page.getByText('Import cancelled. Nothing was imported.').waitFor()
    assert.equal(sent, 0)
    assert.deepEqual(await stored('Unsent'), [])
  })

  it('shows what it has added, the newest first', async () => {
    await page.getByLabel('Search').fill('something')
    await importBooks('Before', 1)
    await importBooks('Shown', 3)
    assert.equal(await button('Undo import').count(), 1)
    await assertAccessible(page, 'imported')
    await button('Show').click()
    await waitForTitles(page, ['Shown 2', 'Shown 1', 'Shown 0'])
    assert.equal(await page.locator('.row.selected').count(), 3)
    await page.getByText('3 selected').waitFor()
    await assertAccessible(page, 'imported-shown')
    // The books are in sight, and can still be deleted together.
    await button('Undo import').waitFor()
  })

  it('is offered to be undone until that is done or dismissed, also after a look at the books', async () => {
    await importBooks('Offered', 3)
    await button('Undo import').click()
    await button('Cancel').click()
    assert.equal((await stored('Offered')).length, 3)
    await button('Show').click()
    await page.getByText('3 selected').waitFor()
    await button('Undo import').click()
    await page.getByText('Imported 3 books.').waitFor()
    // What belongs to the page is not offered in a dialog.
    assert.equal(await button('Show').count(), 0)
    await assertAccessible(page)
    await button('Delete 3 books').click()
    await page.getByText('Deleted 3 books.').waitFor()
    assert.equal(await page.getByText('Imported 3 books.').count(), 0)
    assert.deepEqual(await stored('Offered'), [])
  })

  it('goes on when its dialog is closed, and says so', async () => {
    await choose('Closed', 3)
    const response = relay.hold('POST /books/import?dry_run=false', 'response')
    await importButton().click()
    await response.arrived
    await button('Close').click()
    const notice = page.getByText('Importing “Closed.csv”…')
    await notice.waitFor()
    await assertAccessible(page, 'import-goes-on')
    await button('Open').click()
    await button('Cancel import').waitFor()
    assert.equal(await notice.count(), 0)
    await button('Close').click()
    await notice.waitFor()
    response.release()
    await page.getByText('Imported 3 books.').waitFor()
    assert.equal(await notice.count(), 0)
    await button('Undo import').click()
    await button('Delete 3 books').click()
    await page.getByText('Deleted 3 books.').waitFor()
    assert.deepEqual(await stored('Closed'), [])
  })

  it('deletes the books that it has added and nobody has changed, and no others', async () => {
    const kept = await service.createBook({ title: 'Kept', author: 'Before', year: 1 })
    await page.goto(`${relay.url}/?author=Undone`)
    await importBooks('Undone', 20)
    const [first, second] = await stored('Undone')
    const url = (id: number | undefined) => `${service.url}/book/${id}`
    await fetch(url(first), { method: 'PUT', headers: headers(), body: '{"year":5}' })
    await fetch(url(second), { method: 'DELETE', headers: headers() })
    await button('Undo import').click()
    await page.getByText('This deletes the 20 books added from “Undone.csv”.').waitFor()
    await assertAccessible(page, 'undo-import')
    await button('Delete 20 books').click()
    await page
      .getByText('Deleted 18 books. Kept 1 book that someone else has changed. 1 book was already deleted.')
      .waitFor()
    await assertAccessible(page, 'undo-import-result')
    await button('Close').click()
    assert.deepEqual(await stored('Undone'), [first])
    assert.equal((await fetch(url(kept), { headers: headers() })).status, 200)
    await page.getByText('1 book', { exact: true }).waitFor()
    assert.deepEqual(await titles(page), ['Undone 0'])
  })

  it('can be stopped while its books are deleted, and says how many are left', async () => {
    await importBooks('Stopped', 60)
    await page.route(/\/book\/\d+$/, async (route) => {
      if (route.request().method() === 'DELETE' && (await stored('Stopped')).length < 40)
        await stopped.promise
      await route.fallback()
    })
    const stopped = Promise.withResolvers<void>()
    await button('Undo import').click()
    await button('Delete 60 books').click()
    await page.getByText(/^[1-9]\d* of 60 books$/).waitFor()
    await assertAccessible(page, 'undo-import-running')
    await button('Stop').click()
    stopped.resolve()
    const result = page.getByText(/^Deleted \d+ books\. Stopped: \d+ books left\.$/)
    await result.waitFor()
    const [, deleted, left] = /(\d+) books\. Stopped: (\d+)/.exec((await result.textContent()) ?? '') ?? []
    assert.equal(Number(deleted) + Number(left), 60)
    assert.equal((await stored('Stopped')).length, Number(left))
    await button('Close').click()
    await button('Undo import').click()
    await button('Delete 60 books').click()
    await page.getByText(/already deleted\.$/).waitFor()
    assert.deepEqual(await stored('Stopped'), [])
  })

  it('goes on without its dialog while its books are deleted, and shows how far it is', async () => {
    await importBooks('Shut', 60)
    const released = Promise.withResolvers<void>()
    await page.route(/\/book\/\d+$/, async (route) => {
      if (route.request().method() === 'DELETE' && (await stored('Shut')).length < 40) await released.promise
      await route.fallback()
    })
    await button('Undo import').click()
    assert.notEqual(await colour('Delete 60 books'), await colour('Add book'))
    await button('Delete 60 books').click()
    await page.getByText('Deleting 60 books…').waitFor()
    await page.getByText(/^[1-9]\d* of 60 books$/).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    const notice = page.locator('.notice', { hasText: 'Deleting 60 books…' })
    const part = () =>
      notice.getByRole('progressbar').evaluate((bar) => (bar as unknown as { value: number }).value)
    const before = await part()
    assert.ok(before > 0 && before < 1, String(before))
    await assertAccessible(page, 'undo-import-goes-on')
    await button('Open').click()
    await button('Stop').waitFor()
    assert.equal(await notice.count(), 0)
    await page.keyboard.press('Escape')
    await notice.waitFor()
    released.resolve()
    await page.getByText('Deleted 60 books.').waitFor()
    await notice.waitFor({ state: 'hidden' })
    assert.deepEqual(await stored('Shut'), [])
  })

  const colour = (name: string) =>
    button(name).evaluate((element) => {
      const window = element.ownerDocument.defaultView as unknown as {
        getComputedStyle(of: unknown): { backgroundColor: string }
      }
      return window.getComputedStyle(element).backgroundColor
    })

  it('says how many books are left when the service is gone', async () => {
    await importBooks('Away', 10)
    await page.route(/\/book\/\d+$/, (route) => route.abort())
    await button('Undo import').click()
    await button('Delete 10 books').click()
    await page.getByText('Deleted 0 books. The service is not responding: 10 books left.').waitFor()
    await assertAccessible(page)
  })

  it('is not offered to be undone if somebody else has added a book meanwhile', async () => {
    await choose('Mixed', 3)
    const response = relay.hold('POST /books/import?dry_run=false', 'response')
    await importButton().click()
    await response.arrived
    await service.createBook({ title: 'Mixed in', author: 'Other', year: 1 })
    response.release()
    await page.getByText('Imported 3 books.').waitFor()
    assert.equal(await button('Undo import').count(), 0)
    await button('Show').click()
    await waitForTitles(page, ['Mixed in', 'Mixed 2'])
  })
})
