import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserMissing, useBrowser } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import {
  assertAccessible,
  button,
  field,
  logInOn,
  openPage,
  page,
  screenshot,
  usePage,
  waitForTitles,
} from './page.ts'

describe('the states of the web page', { skip: browserMissing }, () => {
  const service = useService()
  const browser = usePage(() => service.url)

  const openBook = async (title: string) => {
    await page.getByLabel('Search').fill(title)
    await waitForTitles(page, [title])
    await page.getByRole('button', { name: title }).click()
    // The page reads the book before it opens the dialog.
    await button('Save').waitFor()
  }

  it('an empty catalogue says how to begin', async () => {
    await page.getByText('No books yet').waitFor()
    await assertAccessible(page)
    await page.getByText('Statistics').click()
    await page.getByText('No books to show statistics for.').waitFor()
    await assertAccessible(page)
    await page.getByRole('main').getByRole('button', { name: 'Add book' }).click()
    await field('Title').waitFor()
    await assertAccessible(page)
  })

  it('a book that somebody has deleted meanwhile can be added again', async () => {
    const id = await service.createBook({ title: 'Beloved', author: 'Toni Morrison', year: 1987 })
    await openBook('Beloved')
    const headers = { authorization: service.token }
    await fetch(`${service.url}/book/${id}`, { method: 'DELETE', headers })
    await button('Save').click()
    await page.getByText('Someone else has deleted this book').waitFor()
    await assertAccessible(page)
    await button('Add as new book').click()
    await page.getByText('Added “Beloved”.').waitFor()
    await assertAccessible(page)
    await waitForTitles(page, ['Beloved'])
  })

  it('a short list takes no more space than its books, whose years are written as people do', async () => {
    await service.createBook({ title: 'Ilias', author: 'Homeros', year: -750 })
    await service.createBook({ title: 'Undated', author: 'Homeros', year: 0 })
    await page.goto(`${service.url}/?author=Homeros`)
    await waitForTitles(page, ['Ilias', 'Undated'])
    assert.deepEqual(await page.locator('.row .year').allTextContents(), ['750 BC', '—'])
    const { height } = (await page.locator('.rows').boundingBox()) ?? { height: Number.NaN }
    assert.ok(height < 200, `${height} pixels for two books`)
    await assertAccessible(page)
  })

  it('a search without words, and the books of an author', async () => {
    await service.createBook({ title: 'Jazz', author: 'Toni Morrison', year: 1992 })
    await page.getByLabel('Search').fill('!!!')
    await page.getByText('No books found').waitFor()
    await assertAccessible(page)
    await button('Show all books').click()
    await page.getByText('Statistics').click()
    await page.getByRole('button', { name: /^Toni Morrison \d/ }).click()
    await button('Author: Toni Morrison, clear this filter').waitFor()
    await assertAccessible(page)
  })

  it('books that cannot be counted', async () => {
    await page.route('**/books/statistics*', (route) => route.abort())
    await page.getByText('Statistics', { exact: true }).click()
    await page.getByText('Statistics are not available right now.').waitFor()
    await assertAccessible(page)
    await page.unroute('**/books/statistics*')
    await page.getByText('Statistics', { exact: true }).click()
    await page.getByText('Statistics', { exact: true }).click()
    await page.locator('.authors canvas').waitFor()
    await page.getByText('Statistics are not available right now.').waitFor({ state: 'hidden' })
  })

  it('a part of the page that cannot be loaded', async () => {
    const other = await openPage(browser(), 'about:blank')
    await other.route('**/transfer.js', (route) => route.abort())
    await other.goto(service.url)
    await logInOn(other)
    await other.getByRole('button', { name: 'Import…' }).click()
    await other.getByText('Part of this page could not be loaded.').waitFor()
    await assertAccessible(other)
    await other.context().close()
  })

  it('more decades than have space, of which no bar is cut', async () => {
    for (let year = 1500; year < 2000; year += 10)
      await service.createBook({ title: `Of ${year}`, author: 'Decades', year })
    for (const width of [1100, 983, 360]) {
      await page.setViewportSize({ width, height: 740 })
      await page.goto(`${service.url}/?author=Decades`)
      await page.getByText('Statistics', { exact: true }).click()
      await page.locator('.decades canvas').waitFor()
      // A bar takes the 70 hundredths in the middle of the place of its button.
      const cut = () =>
        page.evaluate(`{
          const place = document.querySelector('.decades').getBoundingClientRect()
          ;[...document.querySelectorAll('.decades li')].map((item) => {
            const { left, right, width } = item.getBoundingClientRect()
            return { left: left + 0.15 * width, right: right - 0.15 * width }
          }).filter(({ left, right }) => [place.left, place.right].some((edge) => left + 1 < edge && edge < right - 1)).length
        }`)
      assert.equal(await cut(), 0)
      await page.locator('.decades').evaluate((decades) => decades.scrollBy(-310, 0))
      assert.equal(await cut(), 0, `in ${width} pixels, scrolled`)
      await screenshot(page, `charts-scrolled-${width}`)
    }
    await assertAccessible(page)
  })

  it('charts that cannot be loaded', async () => {
    await page.route('**/uPlot.esm.js', (route) => route.abort())
    await page.getByText('Statistics', { exact: true }).click()
    await page.getByText('Could not load the charts.').waitFor()
    await assertAccessible(page)
  })
})

describe('the web page after too many log-ins', { skip: browserMissing }, () => {
  const service = useService(undefined, { LOGIN_FAILURE_LIMIT: '1' })

  const browser = useBrowser()

  it('says so', async () => {
    const login = await openPage(browser(), service.url)
    await login.getByLabel('Username').fill('admin')
    for (const message of ['Wrong username or password.', 'Too many attempts.']) {
      await login.getByLabel('Password', { exact: true }).fill('wrong')
      await login.getByRole('button', { name: 'Log in' }).click()
      await login.getByText(message).waitFor()
    }
    await assertAccessible(login)
    assert.equal(await login.getByLabel('Username').inputValue(), 'admin')
    await login.context().close()
  })
})
