import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { openPage, openTab, page, usePage } from './page.ts'
import { KEPT } from './timing.ts'

const HOUR = 3_600_000
const BOOK = /\/book\/\d+$/

describe('a session on the web page', { skip: browserMissing }, () => {
  const service = useService()
  const browser = usePage(() => service.url, 'Sula')

  before(() => service.createBook({ title: 'Sula', author: 'Toni Morrison', year: 1973 }))

  const openAnother = () => openTab(page, service.url)
  const asksForLogIn = (tab = page) => tab.getByLabel('Username').waitFor()

  it('outlives a reload, is in every tab, ends in all with a log-out, also in one that is opened again, and begins in all', async () => {
    await page.reload()
    const tab = await openAnother()
    for (const each of [page, tab]) {
      await each.showsTitles('Sula')
      assert.ok(!(await each.getByLabel('Password').isVisible()))
    }
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
    // Nothing is seen through what is behind the dialog.
    const backdrop = await tab.evaluate(
      `getComputedStyle(document.querySelector('#login'), '::backdrop').backgroundColor`,
    )
    assert.match(String(backdrop), /^rgb\(/)
    await tab.assertAccessible('logged-out-elsewhere')
    // The end of the session is nothing new.
    await tab.clock.fastForward('14:30')
    await tab.keys('Escape', 'Escape', 'Escape')
    await tab.enterPassword()
    assert.equal(await tab.field('Title').inputValue(), 'Half a ti')
    await tab.refuse(/\/books\?/, 401, 1)
    await tab.search('sula')
    await tab.shows('Session expired')
    await tab.enterPassword()
    await page.getByLabel('Password').waitFor({ state: 'hidden' })
    await page.clock.fastForward('14:10')
    for (const each of [page, tab]) await each.choose('Stay logged in', 'Session expiring')
    await tab.enterPassword()
    await page.getByLabel('Password').waitFor({ state: 'hidden' })
    await page.clock.fastForward('14:10')
    await page.shows('Your session ends in a minute.')
    await page.refuse(/\/books\?/, 401)
    await page.search('sula')
    await page.shows('Session expired')
    assert.equal(await page.getByText('Your session ends in a minute.').count(), 0)
    // Nor does a page say so that has slept through the end.
    await page.enterPassword()
    await page.clock.fastForward('20:00')
    assert.equal(await page.getByText('Your session ends in a minute.').count(), 0)
  })

  it('is dropped when the service refuses its token', async () => {
    await page.refuse(/\/books\?/, 401)
    const tab = await openAnother()
    await page.reload()
    await page.shows('Session expired')
    await tab.close()
    // Nor is it handed on to another tab.
    await asksForLogIn(await openAnother())
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
    it(`begins, and ends in all tabs with a log-out, where the browser ${where}`, async () => {
      await page.evaluate('sessionStorage.clear()')
      await page.context().addInitScript(script)
      await page.goto(service.url)
      await page.logIn()
      const tab = await openAnother()
      for (const each of [page, tab]) await each.showsTitles('Sula')
      await page.chooseInMenu('Log out')
      for (const each of [page, tab]) await asksForLogIn(each)
    })

  /** Opens a new book on the page, which then has the clock of the tests. @returns its id. */
  async function openBook(title: string): Promise<number> {
    const id = await service.createBook({ title, author: 'Toni Morrison', year: 1973 })
    await page.list(`${service.url}/?title=${title}`, title)
    await page.takeClock()
    await page.makeLonger(5000)
    await page.openBook(title)
    await page.button('Delete').waitFor()
    return id
  }

  /** Saves a year of a new book. @returns what refuses that, which waits until then. */
  async function savesInVain(title: string): Promise<() => void> {
    await openBook(title)
    await page.fillIn({ Year: '2011' })
    const released = Promise.withResolvers<void>()
    await page.refuse(BOOK, 500, 1, released.promise)
    await page.button('Save').click()
    return released.resolve
  }

  const logsOut = async () => {
    await page.chooseInMenu('Log out')
    await page.getByLabel('Username').waitFor()
  }
  const isStored = async (id: number) => (await service.listBooks()).some((book) => book.id === id)

  it('with a log-out deletes what can still be undone, and is content if it is gone', async () => {
    const id = await openBook('Song')
    await page.button('Delete').click()
    assert.ok(await isStored(id))
    await logsOut()
    assert.ok(!(await isStored(id)))
    await page.logIn()
    await service.deleteBook(await openBook('Beloved'))
    await page.button('Delete').click()
    await logsOut()
    await page.logIn()
    const undone = await openBook('Tar Baby')
    await page.button('Delete').click()
    await page.button('Undo').click()
    await logsOut()
    assert.ok(await isStored(undone))
  })

  for (const [title, reason, begin] of [
    ['Jazz', 'someone else has changed it', (id: number) => service.updateBook(id, { year: 1992 })],
    ['Love', 'your session has expired', () => page.refuse(BOOK, 401)],
    ['Mercy', 'the service is not responding', () => page.route(BOOK, (route) => route.abort())],
  ] as const)
    it(`with a log-out tells that a book was not deleted: ${reason}`, async () => {
      await begin(await openBook(title))
      await page.button('Delete').click()
      await page.chooseInMenu('Log out')
      await page.shows(`You are logged out. “${title}” was not deleted: ${reason}.`)
      assert.equal(await page.getByText('Toni Morrison').count(), 0)
      assert.ok(!(await page.getByLabel('Password').isVisible()))
      await page.button('Log in again').click()
      await page.getByLabel('Username').waitFor()
    })

  it('with a log-out waits for a response only so long, and tells that it is not known', async () => {
    const id = await openBook('Paradise')
    const held = await page.hold('DELETE', BOOK)
    await page.button('Delete').click()
    await page.clock.fastForward(KEPT)
    await held.answered
    await page.chooseInMenu('Log out')
    await page.shows('Logging out…')
    await page.clock.fastForward(KEPT)
    await page.shows('Could not confirm that “Paradise” was deleted')
    await page.assertAccessible()
    assert.equal(await isStored(id), false)
  })

  it('with a log-out tells of a save that fails while its panel is open', async () => {
    const refuseSave = await savesInVain('Recitatif')
    await page.chooseInMenu('Log out')
    await page.shows('Logging out…')
    refuseSave()
    await page.shows('“Recitatif” was not saved.')
    // It cannot be opened any more, so the browser does not ask about it.
    let asked = false
    page.on('dialog', (dialog) => {
      asked = true
      void dialog.accept()
    })
    await page.button('Log in again').click()
    await page.getByLabel('Username').waitFor()
    assert.ok(!asked)
  })

  it('with a log-out asks before it discards what is typed, also what a save has failed to store', async () => {
    const refuseSave = await savesInVain('Desdemona')
    await page.cancel()
    refuseSave()
    await page.shows('“Desdemona” was not saved.')
    await page.addBook({ Title: 'Half a ti' })
    await page.chooseInMenu('Log out')
    await page.button('Keep editing').click()
    assert.equal(await page.field('Title').inputValue(), 'Half a ti')
    await page.chooseInMenu('Log out')
    await page.dialog().getByRole('button', { name: 'Discard' }).click()
    await page.waitUntil(`document.querySelector('[name=year]').value === '2011'`)
    await page.dialog().getByRole('button', { name: 'Discard' }).click()
    await page.getByLabel('Username').waitFor()
  })
})
