import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { openPage, openTab, page, usePage } from './page.ts'

const HOUR = 3_600_000

describe('a session on the web page', { skip: browserMissing }, () => {
  const service = useService()
  const browser = usePage(() => service.url, 'Sula')

  before(() => service.createBook({ title: 'Sula', author: 'Toni Morrison', year: 1973 }))

  const openAnother = () => openTab(page, service.url)
  const asksForLogIn = (tab = page) => tab.getByLabel('Username').waitFor()

  it('outlives a reload, and is there in a new tab', async () => {
    await page.reload()
    const tab = await openAnother()
    for (const each of [page, tab]) {
      await each.showsTitles('Sula')
      assert.ok(!(await each.getByLabel('Password').isVisible()))
    }
  })

  it('ends in every tab with a log-out, also in one that is opened again, and begins in all that wait', async () => {
    const tab = await openAnother()
    await tab.showsTitles('Sula')
    const kept = await tab.evaluate(`sessionStorage.getItem('session of /')`)
    assert.equal(typeof kept, 'string')
    await page.chooseInMenu('Log out')
    for (const each of [page, tab]) {
      await asksForLogIn(each)
      assert.equal(await each.getByText('Sula').count(), 0)
      assert.equal(await each.evaluate('sessionStorage.length'), 0)
    }
    await tab.evaluate(`sessionStorage.setItem('session of /', ${JSON.stringify(kept)})`)
    await tab.reload()
    await asksForLogIn(tab)
    await tab.logIn()
    await page.showsTitles('Sula')
    assert.ok(!(await page.getByLabel('Password').isVisible()))
  })

  it('ends in a tab where something is typed, and leaves that for the next', async () => {
    await page.context().clock.install()
    const tab = await openAnother()
    await tab.addBook({ Title: 'Half a ti' })
    await page.chooseInMenu('Log out')
    await tab.shows('You logged out in another tab.')
    await tab.locator('#login input:focus').waitFor()
    assert.equal(await tab.evaluate('sessionStorage.length'), 0)
    await tab.assertAccessible('logged-out-elsewhere')
    // The end of the session is nothing new.
    await tab.clock.fastForward('14:30')
    await tab.keys('Escape', 'Escape', 'Escape')
    await tab.enterPassword()
    assert.equal(await tab.field('Title').inputValue(), 'Half a ti')
    await page.getByLabel('Password').waitFor({ state: 'hidden' })
  })

  it('is dropped when the service refuses its token', async () => {
    await page.refuse(/\/books\?/, 401)
    const tab = await openAnother()
    await page.reload()
    await page.shows('Session expired')
    await tab.close()
    await page.unroute(/\/books\?/)
    await page.reload()
    await asksForLogIn()
  })

  for (const [what, spoil] of [
    [
      'somebody logged out',
      () => page.evaluate(`localStorage.setItem('logged out of /', Date.now() + ${HOUR})`),
    ],
    ['the last session began', () => page.clock.setSystemTime(Date.now() - HOUR)],
  ] as const)
    it(`begins with a password though ${what} in the future, by a clock that was wrong`, async () => {
      const { token } = JSON.parse(await page.evaluate(`sessionStorage.getItem('session of /')`))
      await spoil()
      await page.refuse(/\/books\?/, 401)
      await page.search('sula')
      await page.shows('Session expired')
      await page.unroute(/\/books\?/)
      // Within a second the service issues the same token.
      const json = { status: 200, message: 'OK', data: { token } }
      await page.route('**/token', (route) => route.fulfill({ json }))
      await page.enterPassword()
      await (await openAnother()).showsTitles('Sula')
      await page.showsTitles('Sula')
      await page.reload()
      await page.showsTitles('Sula')
    })

  for (const date of ['Fri, 01 Jan 2100 00:00:00 GMT', 'Thu, 01 Jan 1970 00:00:00 GMT', ''])
    it(`begins though the response has the date “${date}”`, async () => {
      const other = await openPage(browser(), service.url)
      await other.route('**/token', async (route) => {
        const response = await route.fetch()
        await route.fulfill({ response, headers: { ...response.headers(), date } })
      })
      await other.logIn()
      await other.showsTitles('Sula')
      const { start, end } = JSON.parse(await other.evaluate(`sessionStorage.getItem('session of /')`))
      assert.equal(end - start, HOUR / 4)
      await other.reload()
      await other.showsTitles('Sula')
    })

  for (const [where, script] of [
    [
      'has no space left',
      `Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError') }`,
    ],
    [
      'blocks storage',
      `for (const name of ['sessionStorage', 'localStorage'])
        Object.defineProperty(globalThis, name, { get() { throw new DOMException('', 'SecurityError') } })`,
    ],
  ] as const)
    it(`begins, and ends with a log-out, where the browser ${where}`, async () => {
      await page.evaluate('sessionStorage.clear()')
      await page.addInitScript(script)
      await page.goto(service.url)
      await page.logIn()
      await page.showsTitles('Sula')
      await page.chooseInMenu('Log out')
      await asksForLogIn()
    })
})
