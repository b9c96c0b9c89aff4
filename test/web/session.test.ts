import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import {
  assertAccessible,
  chooseInMenu,
  enterPassword,
  logInOn,
  openPage,
  page,
  usePage,
  waitForTitles,
} from './page.ts'

const HOUR = 3_600_000

describe('a session on the web page', { skip: browserMissing }, () => {
  const service = useService()
  const browser = usePage(
    () => service.url,
    () => waitForTitles(page, ['Sula']),
  )

  before(() => service.createBook({ title: 'Sula', author: 'Toni Morrison', year: 1973 }))

  /** Another tab of the same browser. */
  async function openTab(): Promise<Page> {
    const tab = await page.context().newPage()
    await tab.goto(service.url)
    return tab
  }

  const logOut = (tab: Page) => chooseInMenu(tab, 'Log out')

  it('outlives a reload, and is there in a new tab', async () => {
    await page.reload()
    await waitForTitles(page, ['Sula'])
    const tab = await openTab()
    await waitForTitles(tab, ['Sula'])
    for (const each of [page, tab]) assert.ok(!(await each.getByLabel('Password').isVisible()))
  })

  it('begins in every tab that waits for it', async () => {
    await logOut(page)
    await page.getByLabel('Username').waitFor()
    const tab = await openTab()
    await tab.getByLabel('Username').waitFor()
    await logInOn(tab)
    await waitForTitles(page, ['Sula'])
    assert.ok(!(await page.getByLabel('Password').isVisible()))
  })

  it('ends in every tab with a log-out, also in one that is opened again', async () => {
    const tab = await openTab()
    await waitForTitles(tab, ['Sula'])
    const kept = await tab.evaluate(`sessionStorage.getItem('session of /')`)
    assert.equal(typeof kept, 'string')
    await logOut(page)
    for (const each of [page, tab]) {
      await each.getByLabel('Username').waitFor()
      assert.equal(await each.getByText('Sula').count(), 0)
      assert.equal(await each.evaluate('sessionStorage.length'), 0)
    }
    await tab.evaluate(`sessionStorage.setItem('session of /', ${JSON.stringify(kept)})`)
    await tab.reload()
    await tab.getByLabel('Username').waitFor()
  })

  it('ends in a tab where something is typed, and leaves that for the next', async () => {
    await page.context().clock.install()
    const tab = await openTab()
    await tab.getByRole('button', { name: 'Add book' }).click()
    await tab.getByRole('dialog').getByLabel('Title').fill('Half a ti')
    await logOut(page)
    await tab.getByText('You are logged out').waitFor()
    await tab.getByText('You logged out in another tab.').waitFor()
    await tab.locator('#login input:focus').waitFor()
    assert.equal(await tab.evaluate('sessionStorage.length'), 0)
    await assertAccessible(tab, 'logged-out-elsewhere')
    // The end of the session is nothing new.
    await tab.clock.fastForward('14:30')
    for (let times = 0; times < 3; times++) await tab.keyboard.press('Escape')
    await enterPassword(tab)
    assert.equal(await tab.getByRole('dialog').getByLabel('Title').inputValue(), 'Half a ti')
    await page.getByLabel('Password').waitFor({ state: 'hidden' })
  })

  it('is dropped when the service refuses its token', async () => {
    await page.route(/\/books\?/, (route) =>
      route.fulfill({ status: 401, json: { status: 401, message: 'Invalid token', data: null } }),
    )
    const tab = await openTab()
    await page.reload()
    await page.getByText('Session expired').waitFor()
    await assertAccessible(page)
    await tab.close()
    await page.unroute(/\/books\?/)
    await page.reload()
    await page.getByLabel('Username').waitFor()
  })

  for (const [what, spoil] of [
    [
      'somebody logged out',
      (tab: Page) => tab.evaluate(`localStorage.setItem('logged out of /', Date.now() + ${HOUR})`),
    ],
    ['the last session began', (tab: Page) => tab.clock.setSystemTime(Date.now() - HOUR)],
  ] as const)
    it(`begins with a password though ${what} in the future, by a clock that was wrong`, async () => {
      const { token } = JSON.parse(await page.evaluate(`sessionStorage.getItem('session of /')`))
      await spoil(page)
      await page.route(/\/books\?/, (route) =>
        route.fulfill({ status: 401, json: { status: 401, message: 'Invalid token', data: null } }),
      )
      await page.getByLabel('Search').fill('sula')
      await page.getByText('Session expired').waitFor()
      await page.unroute(/\/books\?/)
      // Within a second the service issues the same token.
      const data = { token }
      await page.route('**/token', (route) => route.fulfill({ json: { status: 200, message: 'OK', data } }))
      await enterPassword(page)
      await waitForTitles(await openTab(), ['Sula'])
      await waitForTitles(page, ['Sula'])
      await page.reload()
      await waitForTitles(page, ['Sula'])
    })

  for (const date of ['Fri, 01 Jan 2100 00:00:00 GMT', 'Thu, 01 Jan 1970 00:00:00 GMT', ''])
    it(`begins though the response has the date “${date}”`, async () => {
      const other = await openPage(browser(), service.url)
      await other.route('**/token', async (route) => {
        const response = await route.fetch()
        await route.fulfill({ response, headers: { ...response.headers(), date } })
      })
      await logInOn(other)
      await waitForTitles(other, ['Sula'])
      const { start, end } = JSON.parse(await other.evaluate(`sessionStorage.getItem('session of /')`))
      assert.equal(end - start, HOUR / 4)
      await other.reload()
      await waitForTitles(other, ['Sula'])
      assert.ok(!(await other.getByLabel('Password').isVisible()))
      await other.context().close()
    })

  for (const [where, script] of [
    [
      'has no space left',
      `Storage.prototype.setItem = () => {
        throw new DOMException('The quota has been exceeded', 'QuotaExceededError')
      }`,
    ],
    [
      'blocks storage',
      `for (const name of ['sessionStorage', 'localStorage'])
        Object.defineProperty(globalThis, name, { get() { throw new DOMException('Access is denied', 'SecurityError') } })`,
    ],
  ] as const)
    it(`begins, and ends with a log-out, where the browser ${where}`, async () => {
      await page.evaluate('sessionStorage.clear()')
      await page.addInitScript(script)
      await page.goto(service.url)
      await logInOn(page)
      await waitForTitles(page, ['Sula'])
      await logOut(page)
      await page.getByLabel('Username').waitFor()
    })
})
