import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { browserMissing, useBrowser } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import {
  assertAccessible,
  chooseInMenu,
  holdResponse,
  KEPT,
  keepNotices,
  makeLonger,
  openCatalogue,
  waitForTitles,
} from './page.ts'

const BOOK = /\/book\/\d+$/

describe('a log-out on the web page', { skip: browserMissing }, () => {
  const service = useService()
  const headers = () => ({ authorization: service.token })
  const browser = useBrowser()
  let page: Page

  afterEach(() => page.context().close())

  /** Opens the page, and on it a new book. @returns its URL. */
  async function openBook(title: string): Promise<string> {
    const id = await service.createBook({ title, author: 'Toni Morrison', year: 1973 })
    page = await openCatalogue(browser(), `${service.url}/?q=${title}`)
    await waitForTitles(page, [title])
    await page.clock.install()
    await keepNotices(page)
    await makeLonger(page, 5000)
    await link(title).click()
    await button('Delete').waitFor()
    return `${service.url}/book/${id}`
  }

  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const link = (name: string) => page.getByRole('link', { name, exact: true })

  for (const [title, before] of [
    ['Sula', 200],
    ['A book that another deletes', 404],
  ] as const)
    it(`deletes what can still be undone, or is content that it is gone: ${title}`, async () => {
      const url = await openBook(title)
      if (before === 404) await fetch(url, { method: 'DELETE', headers: headers() })
      assert.equal((await fetch(url, { headers: headers() })).status, before)
      await button('Delete').click()
      await chooseInMenu(page, 'Log out')
      await page.getByLabel('Username').waitFor()
      assert.equal((await fetch(url, { headers: headers() })).status, 404)
    })

  it('deletes nothing that was undone', async () => {
    const url = await openBook('Tar Baby')
    await button('Delete').click()
    await button('Undo').click()
    await chooseInMenu(page, 'Log out')
    await page.getByLabel('Username').waitFor()
    assert.equal((await fetch(url, { headers: headers() })).status, 200)
  })

  it('tells that a book was not deleted because it was changed', async () => {
    const url = await openBook('Jazz')
    await fetch(url, { method: 'PUT', headers: headers(), body: '{"year":1992}' })
    await button('Delete').click()
    await chooseInMenu(page, 'Log out')
    await page.getByText('“Jazz” was not deleted: someone else has changed it.').waitFor()
    await page.getByText('You are logged out.').waitFor()
    assert.equal(await page.getByText('Toni Morrison').count(), 0)
    await assertAccessible(page)
    await button('Log in again').click()
    await page.getByLabel('Username').waitFor()
  })

  for (const [status, reason] of [
    [503, 'the service is busy'],
    [401, 'your session has expired'],
  ] as const)
    it(`tells that a book was not deleted, after a ${status}`, async () => {
      const title = `Love ${status}`
      await openBook(title)
      await page.route(BOOK, (route) =>
        route.fulfill({ status, json: { status, message: 'As a proxy says it', data: null } }),
      )
      await button('Delete').click()
      await chooseInMenu(page, 'Log out')
      await page.getByText(`“${title}” was not deleted: ${reason}.`).waitFor()
      assert.ok(!(await page.getByLabel('Password').isVisible()))
    })

  it('waits for a response only so long, and tells that it is not known', async () => {
    const url = await openBook('Paradise')
    const held = await holdResponse(page, 'DELETE', BOOK)
    await button('Delete').click()
    await page.clock.fastForward(KEPT)
    await held.answered
    await chooseInMenu(page, 'Log out')
    await page.getByText('Logging out…').waitFor()
    await assertAccessible(page)
    await page.clock.fastForward(KEPT)
    await page.getByText('Could not confirm that “Paradise” was deleted').waitFor()
    assert.equal((await fetch(url, { headers: headers() })).status, 404)
  })

  it('tells of a save that fails while its panel is open', async () => {
    await openBook('Love')
    await page.getByRole('dialog').getByLabel('Year').fill('2003')
    const released = Promise.withResolvers<void>()
    const refusal = { status: 500, json: { status: 500, message: 'Internal server error', data: null } }
    await page.route(BOOK, (route) => released.promise.then(() => route.fulfill(refusal)))
    await button('Save').click()
    await chooseInMenu(page, 'Log out')
    await page.getByText('Logging out…').waitFor()
    released.resolve()
    await page.getByText('“Love” was not saved.').waitFor()
  })

  it('waits for a save under way', async () => {
    const url = await openBook('Home')
    await page.getByRole('dialog').getByLabel('Year').fill('2012')
    const released = Promise.withResolvers<void>()
    await page.route(BOOK, (route) => released.promise.then(() => route.continue()))
    await button('Save').click()
    await button('Cancel').click()
    await chooseInMenu(page, 'Log out')
    await page.getByText('Logging out…').waitFor()
    released.resolve()
    await page.getByLabel('Username').waitFor()
    const response = await fetch(url, { headers: headers() })
    assert.equal(((await response.json()) as { data: { year: number } }).data.year, 2012)
  })
})
