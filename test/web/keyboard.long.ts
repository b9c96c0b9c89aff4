import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Locator } from 'playwright-core'
import { browserMissing } from '../support/browser.ts'
import { ACCOUNT } from '../support/service.ts'
import { useService } from '../support/use-service.ts'
import { openPage, usePages } from './page.ts'

/** As often as Tab is pressed to get anywhere. */
const MOST = 30

const FILE = {
  name: 'more.csv',
  mimeType: 'text/csv',
  buffer: Buffer.from('title,author,year\nIda,G. Stein,1941\n'),
}

describe('every task of the web page with keys alone', { skip: browserMissing }, () => {
  const service = useService((service) =>
    service.importBooks([
      { title: 'Nana', author: 'Émile Zola', year: 1880 },
      { title: 'Emma', author: 'Jane Austen', year: 1815 },
    ]),
  )
  const browser = usePages()

  it('is done, without the loss of the focus', async () => {
    const page = await openPage(browser(), service.url)
    const { button, link, field, keys } = page
    const text = (exact: string) => page.getByText(exact, { exact: true }).first()

    /** Goes to an element with Tab, or from the end of the page with Shift+Tab, and presses keys there. */
    async function at(element: Locator, ...pressed: string[]): Promise<void> {
      const isThere = () => element.evaluate((each) => each.matches(':focus'))
      await element.waitFor()
      for (let times = 0; !(await isThere()); times++) {
        assert.ok(times < MOST, `Tab does not lead to ${element}`)
        await keys('Tab')
      }
      await keys(...pressed)
    }

    const enterAt = (...names: string[]) =>
      names.reduce((done, name) => done.then(() => at(button(name), 'Enter')), Promise.resolve())

    async function typeAt(element: Locator, typed: string): Promise<void> {
      await at(element)
      await page.keyboard.type(typed)
    }

    /** Waits for what a task shows. The focus is not lost then. */
    async function shows(element: Locator): Promise<void> {
      await element.waitFor()
      // What is drawn last may take the focus away.
      await page.waitForTimeout(100)
      assert.ok(await page.evaluate('document.activeElement !== document.body'), `after ${element}`)
      await page.assertAccessible()
    }

    await typeAt(page.getByLabel('Username'), ACCOUNT.username)
    await typeAt(page.getByLabel('Password'), ACCOUNT.password)
    await keys('Enter')
    await text('2 books').waitFor()
    await page.keepNotices()

    await enterAt('Add book')
    await shows(field('Title'))
    await page.keyboard.type('Ulysses')
    // This Enter ends the composition of an input method.
    const init = { key: 'Enter', isComposing: true, bubbles: true, cancelable: true }
    await field('Title').dispatchEvent('keydown', init)
    await typeAt(field('Author'), 'James Joyce')
    await typeAt(field('Year'), '1922')
    await keys('Enter')
    await shows(text('Added “Ulysses”.'))

    await typeAt(page.getByLabel('Search'), 'uly')
    await page.showsTitles('Ulysses')
    await at(link('Ulysses'), 'Enter')
    await shows(field('Title'))
    assert.ok(await field('Title').evaluate((element) => element.matches(':focus')))
    await at(field('Year'), 'End', 'Backspace', '1', 'Enter')
    await shows(text('Saved “Ulysses”.'))

    await keys('/', 'Control+A', 'Delete')
    await text('3 books').waitFor()
    await enterAt('Statistics')
    await shows(page.getByRole('heading', { name: 'Top authors' }))
    await at(page.locator('.authors button').first())
    const chosen = page.locator('.authors button:focus', { hasText: 'Jane Austen' })
    for (let times = 0; times < 3 && (await chosen.count()) === 0; times++) await keys('ArrowDown')
    await keys('Enter')
    await shows(text('1 book'))
    await enterAt('Author: Jane Austen, clear this filter')
    await shows(text('3 books'))

    await enterAt('Menu', 'Import…')
    const [chooser] = await Promise.all([page.waitForEvent('filechooser'), at(field('File'), 'Enter')])
    await chooser.setFiles(FILE)
    const storing = await page.hold('POST', /dry_run=false/, () => enterAt('Import 1 book'))
    await shows(text('Sending…'))
    await storing.release()
    await shows(text('Imported 1 book.'))
    await enterAt('Undo import', 'Delete 1 book')
    await shows(text('Deleted 1 book.'))

    await enterAt('Menu', 'Export…')
    await shows(button('CSV for spreadsheets'))
    const reading = await page.hold('GET', /\/books(\?(?!.*limit)|$)/, () => enterAt('NDJSON for programs'))
    await shows(text('Exporting…'))
    const [file] = await Promise.all([page.waitForEvent('download'), reading.release()])
    assert.equal(file.suggestedFilename(), 'books.ndjson')

    await at(link('Nana'), 'Enter')
    await enterAt('Delete')
    await shows(text('Deleted “Nana”.'))
    await enterAt('Menu', 'Log out')
    await page.getByLabel('Username').waitFor()
    assert.deepEqual(
      (await service.listBooks()).map(({ title, year }) => `${title}, ${year}`),
      ['Emma, 1815', 'Ulysses, 1921'],
    )
  })
})
