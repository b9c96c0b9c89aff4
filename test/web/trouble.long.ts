import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { logIn } from '../support/client.ts'
import { freePort } from '../support/free-port.ts'
import { type Service, startService, temporaryDirectory } from '../support/service.ts'
import { page, series, usePage } from './page.ts'

/** How long the page waits before it asks again, in milliseconds. */
const RETRY = 3000

const AWAY = 'The service is not responding'

describe('the web page when something goes wrong', { skip: browserMissing }, () => {
  const directory = temporaryDirectory()
  let service: Service
  let starts = 0
  /** The page keeps its address while the service is restarted. */
  let PORT: string

  before(async () => {
    PORT = String(await freePort())
    await start()
    const headers = { authorization: await logIn(service.url), 'content-type': 'application/json' }
    // More than the page asks for at once.
    const books = [{ title: 'Kindred', author: 'Octavia E. Butler', year: 1979 }, ...series(400)]
    const body = JSON.stringify(books)
    const response = await fetch(`${service.url}/books/import`, { method: 'POST', headers, body })
    assert.equal(response.status, 200)
  })
  usePage(() => service.url, 'Kindred')
  after(async () => {
    await service?.stop()
    directory.remove()
  })

  /** Another key each time: the tokens of before are refused. */
  async function start(): Promise<void> {
    const SECRET_TOKEN = `the secret of the tests, number ${++starts}`
    service = await startService(directory.path, { PORT, SECRET_TOKEN })
  }

  async function restart(): Promise<void> {
    await service.stop()
    await start()
  }

  /** The page loads the parts that the first view does not need, and what they import, after it. */
  async function hasLoaded(part: string): Promise<void> {
    const resource = `performance.getEntriesByType('resource').find(({ name }) => name.endsWith('${part}'))`
    await page.waitUntil(`${resource} !== undefined`)
    await page.evaluate(`import(${resource}.name).then(() => {})`)
  }

  /** The service cannot be reached, and the page has the clock of the tests. */
  async function goAway(): Promise<void> {
    await page.clock.install()
    await page.context().setOffline(true)
  }

  /** Lets the page reach the service again at its next attempt. */
  async function comeBack(): Promise<void> {
    await page.context().setOffline(false)
    await page.clock.fastForward(RETRY)
  }

  it('keeps what was typed while the service is replaced by another version, and saves it after a log-in', async () => {
    await page.openBook('Kindred', { Year: '1980' })
    await hasLoaded('charts.js')
    await service.stop()
    await page.choose('Save', 'Your changes are still here')
    await page.assertAccessible('away')
    await start()
    // The page of the other version has other files.
    await page.refuse('**/web/**', 404)
    await page.choose('Save', 'Your changes are kept')
    assert.equal(await page.getByText('Your changes are still here').count(), 0)
    await page.enterPassword()
    await page.shows('Saved “Kindred”.')
    assert.equal(await page.locator('.row .year').first().textContent(), '1980')
    await page.button('Statistics').click()
    await page.getByRole('heading', { name: 'Top authors' }).waitFor()
  })

  it('says that the service is away, and goes on by itself when it is back', async () => {
    await hasLoaded('export.js')
    await goAway()
    await page.search('kin')
    await page.shows(AWAY)
    await page.chooseInMenu('Export…')
    await page.choose('CSV for spreadsheets', 'Nothing was exported.')
    await page.assertAccessible()
    await page.button('Cancel').click()
    await page.chooseInMenu('Export…')
    assert.equal(await page.getByText('Nothing was exported.').count(), 0)
    await page.button('Cancel').click()
    await comeBack()
    await page.showsTitles('Kindred')
    await page.hides(AWAY)
  })

  it('presses no other button with a click during which the service comes back, and gives the list the focus', async () => {
    await goAway()
    await page.search('nothing is like this')
    await page.button('Retry now').hover()
    await page.mouse.down()
    await comeBack()
    await page.shows('No books found')
    await page.mouse.up()
    await page.waitForTimeout(300)
    assert.equal(await page.getByLabel('Search').inputValue(), 'nothing is like this')
    await goAway()
    await page.search('volume 7')
    await page.button('Retry now').focus()
    await comeBack()
    await page.showsTitles('Volume 7')
    assert.ok(await page.evaluate("document.activeElement.closest('[role=grid]') !== null"))
  })

  it('shows the books that it has while the service is away, and the others after a restart with another key', async () => {
    await page.shows('401 books')
    await page.clock.install()
    await service.stop('SIGKILL')
    await page.scrollTo(1e6)
    await page.getByRole('alert').getByText(AWAY).waitFor()
    assert.ok((await page.locator('.row').count()) > 10)
    await page.assertAccessible('away-list')
    await start()
    await page.clock.fastForward(RETRY)
    await page.shows('Your changes are kept')
    await page.enterPassword()
    await page.getByRole('alert').getByText(AWAY).waitFor({ state: 'hidden' })
    // Where the list was scrolled to.
    await page.link('Volume 399').waitFor()
    await page.scrollTo(0)
    await page.showsTitles('Kindred')
    await page.shows('401 books')
    for (let top = 0; !(await page.getByText('Volume 399').count()); top += 2000) await page.scrollTo(top)
  })

  it('selects and prints all books, also after a restart with another key', async () => {
    await page.shows('401 books')
    await restart()
    await page.selectAll()
    await page.shows('Your changes are kept')
    await page.enterPassword()
    await page.shows('401 selected')
    await page.reload()
    await page.shows('401 books')
    await page.evaluate(`globalThis.print = () => {
      dispatchEvent(new Event('beforeprint'))
      globalThis.printed = document.querySelectorAll('.row').length
    }`)
    await restart()
    await page.keys('Control+p')
    await page.shows('Your changes are kept')
    await page.enterPassword()
    await page.waitUntil('globalThis.printed === 401')
  })

  it('says that nobody is logged in when the password is not given, and shows the books when it is', async () => {
    await page.shows('401 books')
    await page.button('Statistics').click()
    await page.button('Series 400 books').waitFor()
    await restart()
    await page.clock.install()
    const declined = Promise.withResolvers<void>()
    await page.route('**/books?q=kin&limit=100', (route) => declined.promise.then(() => route.continue()))
    await page.search('kin')
    await page.shows('Your changes are kept')
    await page.getByLabel('Password', { exact: true }).fill('wrong')
    await page.choose('Log in', 'Wrong username or password.')
    await page.keys('Escape')
    // The list, whose token is refused only now, does not ask for the password again.
    declined.resolve()
    await page.shows('Could not load the books')
    // Nor does counting, which would begin half a second later.
    await page.clock.runFor(2000)
    assert.equal(await page.locator('#login[open]').count(), 0)
    await page.choose('Try again', 'Your changes are kept')
    assert.equal(await page.getByText('Wrong username or password.').count(), 0)
    await page.enterPassword()
    await page.showsTitles('Kindred')
  })
})
