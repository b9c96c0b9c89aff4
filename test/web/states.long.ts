import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserMissing, useBrowser } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import {
  assertAccessible,
  button,
  chooseInMenu,
  field,
  logInOn,
  openPage,
  page,
  usePage,
  waitForTitles,
} from './page.ts'

describe('the states of the web page', { skip: browserMissing }, () => {
  const service = useService()
  const browser = usePage(() => service.url)

  const openBook = async (title: string) => {
    await page.getByLabel('Search').fill(title)
    await waitForTitles(page, [title])
    await page.getByRole('link', { name: title }).click()
    // The page reads the book before it opens the dialog.
    await button('Save').waitFor()
  }

  it('an empty catalogue says how to begin', async () => {
    await page.getByText('No books yet').waitFor()
    await assertAccessible(page)
    await page.getByRole('button', { name: 'Statistics' }).click()
    await page.getByText('No books to show statistics for.').waitFor()
    await assertAccessible(page)
    await page.getByRole('main').getByRole('button', { name: 'Add book' }).click()
    await field('Title').waitFor()
    await assertAccessible(page)
  })

  it('an empty catalogue can be tried with the sample books', async () => {
    await button('Load sample books').click()
    await page.getByText('Imported 132 books.').waitFor()
    await waitForTitles(page, ['The Epic of Gilgamesh'])
    await button('Undo import').click()
    await button('Delete 132 books').click()
    await page.getByText('No books yet').waitFor()
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
    await page.goto(`${service.url}/?author=Homeros&sort=id`)
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
    await page.getByRole('button', { name: 'Statistics' }).click()
    await page.getByRole('button', { name: /^Toni Morrison \d/ }).click()
    await button('Author: Toni Morrison, clear this filter').waitFor()
    await assertAccessible(page)
  })

  it('books that cannot be counted', async () => {
    await page.route('**/books/statistics*', (route) => route.abort())
    await page.getByRole('button', { name: 'Statistics' }).click()
    await page.getByText('Statistics are not available right now.').waitFor()
    await assertAccessible(page)
    await page.unroute('**/books/statistics*')
    await page.getByRole('button', { name: 'Statistics' }).click()
    await page.getByRole('button', { name: 'Statistics' }).click()
    await page.locator('.authors').waitFor()
    await page.getByText('Statistics are not available right now.').waitFor({ state: 'hidden' })
  })

  it('a part of the page that cannot be loaded', async () => {
    const other = await openPage(browser(), 'about:blank')
    await other.route('**/transfer.js', (route) => route.abort())
    await other.goto(service.url)
    await logInOn(other)
    await chooseInMenu(other, 'Import…')
    await other.getByText('Part of this page could not be loaded.').waitFor()
    await assertAccessible(other)
    await other.context().close()
  })

  it('decades far from the others share a bar; a book of an unknown year is none of them', async () => {
    for (const year of [-500, 1700, 1912, 1919, 1995, 9000, 0])
      await service.createBook({ title: `Of ${year}`, author: 'Decades', year })
    await page.goto(`${service.url}/?author=Decades&sort=id`)
    await page.getByRole('button', { name: 'Statistics' }).click()
    const bars = page.locator('.decades')
    await bars.waitFor()
    const names = ['Until 1909: 2 books', '1910: 2 books', '1990: 1 book', 'From 2000: 1 book']
    assert.deepEqual(
      await bars.getByRole('button').evaluateAll((all) => all.map((each) => each.getAttribute('aria-label'))),
      names,
    )
    // Between 1910 and 1990, the empty decades have their places.
    assert.equal(await bars.locator('li').count(), 1 + 9 + 1)
    // Tab leads to one bar, the arrows to the others.
    const focused = () => page.evaluate('document.activeElement.getAttribute("aria-label")')
    await page.getByRole('button', { name: 'Statistics' }).focus()
    for (let times = 0; times < 3; times++) await page.keyboard.press('Tab')
    assert.equal(await focused(), 'From 2000: 1 book')
    for (const name of names.slice(0, 3).toReversed()) {
      await page.keyboard.press('ArrowLeft')
      assert.equal(await focused(), name)
    }
    await page.keyboard.press('Enter')
    await waitForTitles(page, ['Of -500', 'Of 1700'])
    await page.getByLabel('To year').fill('')
    await button('Unknown year: 1 book').click()
    await button('Years: unknown year, clear this filter').waitFor()
    await waitForTitles(page, ['Of 0'])
    for (const width of [1100, 360]) {
      await page.setViewportSize({ width, height: 740 })
      await assertAccessible(page, `charts-${width}`)
    }
    await button('Clear all').click()
    await waitForTitles(page, ['Beloved'])
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
