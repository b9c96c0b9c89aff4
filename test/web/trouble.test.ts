import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { browserMissing, launchBrowser } from '../support/browser.ts'
import { logIn } from '../support/client.ts'
import { type Service, startService, temporaryDirectory } from '../support/service.ts'
import {
  assertAccessible,
  chooseInMenu,
  enterPassword,
  keepNotices,
  logInOn,
  openCatalogue,
  openPage,
  waitForTitles,
  waitUntil,
} from './page.ts'
import { Relay } from './relay.ts'

/** More than the page asks for at once. */
const volumes = Array.from({ length: 400 }, (_, i) => `Volume ${i},Series,${i}`)

/** How long the page waits before it asks again, in milliseconds. */
const RETRY = 3000

describe('the web page when something goes wrong', { skip: browserMissing }, () => {
  const directory = temporaryDirectory()
  let service: Service
  /** The page keeps its address while the service is restarted on another port. */
  let relay: Relay
  let browser: Browser

  /** Lets a page, which has the clock of the tests, reach the service again at its next attempt. */
  async function comeBack(page: Page): Promise<void> {
    relay.isAway = false
    await page.clock.fastForward(RETRY)
  }

  const start = (secret: string) => startService(directory.path, { SECRET_TOKEN: secret })

  before(async () => {
    service = await start('the secret of the tests, the first of the two')
    const headers = { authorization: await logIn(service.url) }
    const body = ['title,author,year', 'Kindred,Octavia E. Butler,1979', ...volumes].join('\n')
    const response = await fetch(`${service.url}/books/import`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'text/csv' },
      body,
    })
    assert.equal(response.status, 200)
    relay = await Relay.open(() => service.url)
    browser = await launchBrowser()
  })
  after(async () => {
    await browser?.close()
    await relay?.[Symbol.asyncDispose]()
    await service?.stop()
    directory.remove()
  })

  it('keeps what was typed while the service is restarted, and saves it after another log-in', async () => {
    const page = await openCatalogue(browser, relay.url)
    await page.getByRole('link', { name: 'Kindred' }).click()
    await page.getByRole('dialog').getByLabel('Year').fill('1980')
    await service.stop()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Your changes are still here').waitFor()
    await assertAccessible(page, 'away')
    service = await start('the secret of the tests, the second of the two')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Your changes are kept').waitFor()
    assert.equal(await page.getByText('Your changes are still here').count(), 0)
    await enterPassword(page)
    await page.getByText('Saved “Kindred”.').waitFor()
    assert.equal(await page.locator('.row .year').first().textContent(), '1980')
    await page.context().close()
  })

  it('says that the service is away, and goes on by itself when it is back', async () => {
    const page = await openCatalogue(browser, relay.url)
    await waitForTitles(page, ['Kindred'])
    // The page loads the dialog of the export after its first view.
    await waitUntil(
      page,
      "performance.getEntriesByType('resource').some(({ name }) => name.includes('export.js'))",
    )
    await page.clock.install()
    relay.isAway = true
    await page.getByLabel('Search').fill('kin')
    await page.getByText('The service is not responding').waitFor()
    await assertAccessible(page)
    await chooseInMenu(page, 'Export…')
    await page.getByRole('button', { name: 'CSV for spreadsheets' }).click()
    await page.getByText('Nothing was exported.').waitFor()
    await assertAccessible(page)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await chooseInMenu(page, 'Export…')
    assert.equal(await page.getByText('Nothing was exported.').count(), 0)
    assert.ok(await page.getByRole('button', { name: 'CSV for spreadsheets' }).isEnabled())
    await page.getByRole('button', { name: 'Cancel' }).click()
    await comeBack(page)
    await waitForTitles(page, ['Kindred'])
    await page.context().close()
  })

  it('presses no other button with a click during which the service comes back', async () => {
    const page = await openCatalogue(browser, relay.url)
    await waitForTitles(page, ['Kindred'])
    await page.clock.install()
    relay.isAway = true
    await page.getByLabel('Search').fill('nothing is like this')
    await page.getByRole('button', { name: 'Retry now' }).hover()
    await page.mouse.down()
    await comeBack(page)
    await page.getByText('No books found').waitFor()
    await page.mouse.up()
    await page.waitForTimeout(300)
    assert.equal(await page.getByLabel('Search').inputValue(), 'nothing is like this')
    await page.context().close()
  })

  it('gives the focus to the list that comes after a retry', async () => {
    const page = await openCatalogue(browser, relay.url)
    await waitForTitles(page, ['Kindred'])
    await page.clock.install()
    relay.isAway = true
    await page.getByLabel('Search').fill('volume 7')
    const retry = page.getByRole('button', { name: 'Retry now' })
    await retry.focus()
    await comeBack(page)
    await waitForTitles(page, ['Volume 7'])
    assert.equal(await page.evaluate("document.activeElement.closest('[role=grid]') !== null"), true)
    await page.context().close()
  })

  it('keeps what is searched for and what is typed while the service is killed, and needs no other log-in', async () => {
    const page = await openCatalogue(browser, relay.url)
    await page.getByLabel('Search').fill('kindr')
    await waitForTitles(page, ['Kindred'])
    await page.getByRole('link', { name: 'Kindred' }).click()
    await page.getByRole('dialog').getByLabel('Author').fill('O. E. Butler')
    await service.stop('SIGKILL')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Your changes are still here').waitFor()
    service = await start('the secret of the tests, the second of the two')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved “Kindred”.').waitFor()
    assert.equal(await page.locator('#login[open]').count(), 0)
    assert.equal(await page.getByLabel('Search').inputValue(), 'kindr')
    assert.equal(await page.locator('.row .author').first().textContent(), 'O. E. Butler')
    await page.context().close()
  })

  it('shows a book again that was not deleted because the service was away', async () => {
    const page = await openCatalogue(browser, relay.url)
    await page.clock.install()
    await page.getByRole('link', { name: 'Kindred' }).click()
    await page.getByRole('button', { name: 'Delete' }).waitFor()
    relay.isAway = true
    await page.getByRole('button', { name: 'Delete' }).click()
    await waitForTitles(page, ['Volume 0'])
    await page.clock.fastForward(6000)
    await page.getByText('“Kindred” was not deleted: the service is not responding.').waitFor()
    await comeBack(page)
    await waitForTitles(page, ['Kindred'])
    await page.getByText('401 books').waitFor()
    await assertAccessible(page)
    await page.context().close()
  })

  it('logs out while the service is away, and tells of a book that was not deleted', async () => {
    const page = await openCatalogue(browser, `${relay.url}/?q=kindred`)
    await page.getByRole('link', { name: 'Kindred' }).click()
    await page.getByRole('button', { name: 'Delete' }).waitFor()
    await keepNotices(page)
    relay.isAway = true
    await page.getByRole('button', { name: 'Delete' }).click()
    await chooseInMenu(page, 'Log out')
    await page
      .getByText('You are logged out. “Kindred” was not deleted: the service is not responding.')
      .waitFor()
    relay.isAway = false
    await page.getByRole('button', { name: 'Log in again' }).click()
    await logInOn(page)
    await waitForTitles(page, ['Kindred'])
    await page.context().close()
  })

  it('shows the books that it has while the service is away, and the others after a restart with another key', async () => {
    const page = await openPage(browser, relay.url)
    const scroll = (top: number) => page.locator('.rows').evaluate((rows, top) => rows.scrollTo(0, top), top)
    await logInOn(page)
    await page.getByText('401 books').waitFor()
    await page.getByRole('button', { name: 'Statistics' }).click()
    await page.getByRole('button', { name: 'Series 400 books' }).waitFor()
    await page.getByRole('button', { name: 'Statistics' }).click()
    await page.clock.install()
    await service.stop('SIGKILL')
    await scroll(1_000_000)
    await page.getByRole('alert').getByText('The service is not responding').waitFor()
    assert.ok((await page.locator('.row').count()) > 10)
    await assertAccessible(page, 'away-list')
    service = await start('the secret of the tests, the third')
    await page.clock.fastForward(RETRY)
    await page.getByText('Your changes are kept').waitFor()
    await enterPassword(page)
    await page.getByRole('alert').getByText('The service is not responding').waitFor({ state: 'hidden' })
    await waitForTitles(page, ['Kindred'])
    await page.getByText('401 books').waitFor()
    for (let top = 0; !(await page.getByText('Volume 399').count()); top += 2000) await scroll(top)
    await page.context().close()
  })

  it('selects all books, also after a restart with another key', async () => {
    const page = await openCatalogue(browser, relay.url)
    await page.getByText('401 books').waitFor()
    await service.stop()
    service = await start('the secret of the tests, the one for a selection')
    await page.getByLabel('Select all').click()
    await page.getByText('Your changes are kept').waitFor()
    await enterPassword(page)
    await page.getByText('401 selected').waitFor()
    await page.context().close()
  })

  it('says that nobody is logged in when the password is not given, and shows the books when it is', async () => {
    const page = await openCatalogue(browser, relay.url)
    await page.getByText('401 books').waitFor()
    await page.getByRole('button', { name: 'Statistics' }).click()
    await page.getByRole('button', { name: 'Series 400 books' }).waitFor()
    await service.stop()
    service = await start('the secret of the tests, the fourth')
    await page.clock.install()
    const declined = Promise.withResolvers<void>()
    await page.route('**/books?q=kin&limit=100', (route) => declined.promise.then(() => route.continue()))
    await page.getByLabel('Search').fill('kin')
    await page.getByText('Your changes are kept').waitFor()
    await page.getByLabel('Password', { exact: true }).fill('wrong')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('Wrong username or password.').waitFor()
    await page.keyboard.press('Escape')
    // The list, whose token is refused only now, does not ask for the password again.
    declined.resolve()
    await page.getByText('Could not load the books').waitFor()
    // Nor does counting, which would begin half a second later.
    await page.clock.runFor(2000)
    assert.equal(await page.locator('#login[open]').count(), 0)
    await assertAccessible(page)
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Your changes are kept').waitFor()
    assert.equal(await page.getByText('Wrong username or password.').count(), 0)
    await enterPassword(page)
    await waitForTitles(page, ['Kindred'])
    await page.context().close()
  })
})
