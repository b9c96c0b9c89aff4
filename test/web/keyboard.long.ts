import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { browserMissing, useBrowser } from '../support/browser.ts'
import { ENGINES, engineMissing, useDatabases } from '../support/engines.ts'
import { ACCOUNT } from '../support/service.ts'
import { useService } from '../support/use-service.ts'
import { assertAccessible, keepNotices, openPage, waitForTitles } from './page.ts'

/** As often as Tab is pressed to get anywhere. */
const MOST = 30

const FILE = {
  name: 'more.csv',
  mimeType: 'text/csv',
  buffer: Buffer.from('title,author,year\nIda,G. Stein,1941\n'),
}

for (const engine of ENGINES)
  describe(`every task of the web page with keys alone, on ${engine}`, {
    skip: browserMissing || engineMissing(engine),
  }, () => {
    const databases = engine === 'sqlite' ? undefined : useDatabases(engine)
    const service = useService(
      (service) =>
        service.importBooks([
          { title: 'Nana', author: 'Émile Zola', year: 1880 },
          { title: 'Emma', author: 'Jane Austen', year: 1815 },
          { title: 'nana', author: 'Emile Zola', year: 1880 },
        ]),
      async () => (databases ? { DB_URL: await (await databases()).createDatabase() } : {}),
    )
    const browser = useBrowser()

    it('is done, without the loss of the focus', async () => {
      const page: Page = await openPage(browser(), service.url)
      const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })
      const link = (name: string) => page.getByRole('link', { name, exact: true })
      const field = (name: string) => page.getByRole('dialog').getByLabel(name)
      const press = (key: string) => page.keyboard.press(key)

      /** Goes to an element with Tab, or from the end of the page with Shift+Tab, and presses keys there. */
      async function at(element: Locator, ...keys: string[]): Promise<void> {
        const isThere = () => element.evaluate((each) => each.matches(':focus'))
        await element.waitFor()
        for (let times = 0; !(await isThere()); times++) {
          assert.ok(times < MOST, `Tab does not lead to ${element}`)
          await press('Tab')
        }
        for (const key of keys) await press(key)
      }

      /** Waits for what a task shows. The focus is not lost then. */
      async function shows(element: Locator): Promise<void> {
        await element.waitFor()
        // What is drawn last may take the focus away.
        await page.waitForTimeout(100)
        assert.ok(await page.evaluate('document.activeElement !== document.body'), `after ${element}`)
        await assertAccessible(page)
      }

      await at(page.getByLabel('Username'))
      await page.keyboard.type(ACCOUNT.username)
      await at(page.getByLabel('Password'))
      await page.keyboard.type(ACCOUNT.password)
      await press('Enter')
      await page.getByText('3 books', { exact: true }).waitFor()
      await keepNotices(page)

      await at(button('Add book'), 'Enter')
      await shows(field('Title'))
      await page.keyboard.type('Ulysses')
      await at(field('Author'))
      await page.keyboard.type('James Joyce')
      await at(field('Year'))
      await page.keyboard.type('1922')
      await press('Enter')
      await shows(page.getByText('Added “Ulysses”.'))

      await at(page.getByLabel('Search'))
      await page.keyboard.type('uly')
      await waitForTitles(page, ['Ulysses'])
      await at(link('Ulysses'), 'Enter')
      await shows(field('Title'))
      await at(field('Year'), 'End', 'Backspace')
      await press('1')
      await press('Enter')
      await shows(page.getByText('Saved “Ulysses”.'))

      await press('/')
      await press('Control+A')
      await press('Delete')
      await page.getByText('4 books', { exact: true }).waitFor()
      await at(page.getByLabel('Sort by'))
      await page.keyboard.type('Dup')
      await shows(button('Select all but the first of each'))
      await at(button('Select all but the first of each'), 'Enter')
      await shows(page.getByText('1 selected', { exact: true }))
      await at(button('Edit…'), 'Enter')
      await shows(field('Author'))
      await at(field('Year'))
      await page.keyboard.type('1881')
      await press('Enter')
      await shows(page.getByText('Saved 1 book.'))
      await at(button('Select all but the first of each'), 'Enter')
      const [csv] = await Promise.all([page.waitForEvent('download'), at(button('Export CSV'), 'Enter')])
      assert.equal(csv.suggestedFilename(), 'books.csv')
      await at(button('Delete'), 'Enter')
      await shows(page.getByText('No duplicates found'))
      await at(button('Undo'), 'Enter')
      await shows(page.getByText('2 books', { exact: true }))
      await at(page.getByLabel('Sort by'))
      await page.keyboard.type('Old')
      await page.getByText('4 books', { exact: true }).waitFor()

      await at(page.getByRole('button', { name: 'Statistics' }), 'Enter')
      await shows(page.getByRole('heading', { name: 'Top authors' }))
      await at(page.locator('.authors button').first())
      const chosen = page.locator('.authors button:focus', { hasText: 'Jane Austen' })
      for (let times = 0; times < 3 && (await chosen.count()) === 0; times++) await press('ArrowDown')
      await press('Enter')
      await shows(page.getByText('1 book', { exact: true }).first())
      await at(button('Author: Jane Austen, clear this filter'), 'Enter')
      await shows(page.getByText('4 books', { exact: true }))

      await at(button('Menu'), 'Enter')
      await at(button('Import…'), 'Enter')
      const [chooser] = await Promise.all([page.waitForEvent('filechooser'), at(field('File'), 'Enter')])
      await chooser.setFiles(FILE)
      await at(button('Import 1 book'), 'Enter')
      await shows(page.getByText('Imported 1 book.'))
      await at(button('Undo import'), 'Enter')
      await at(button('Delete 1 book'), 'Enter')
      await shows(page.getByText('Deleted 1 book.'))

      await at(button('Menu'), 'Enter')
      await at(button('Export…'), 'Enter')
      await shows(button('CSV for spreadsheets'))
      const [file] = await Promise.all([
        page.waitForEvent('download'),
        at(button('NDJSON for programs'), 'Enter'),
      ])
      assert.equal(file.suggestedFilename(), 'books.ndjson')

      await at(link('Nana'), 'Enter')
      await at(button('Delete'), 'Enter')
      await shows(page.getByText('Deleted “Nana”.'))
      await at(button('Menu'), 'Enter')
      await at(button('Log out'), 'Enter')
      await page.getByLabel('Username').waitFor()
      const { data } = (await (
        await fetch(`${service.url}/books`, { headers: { authorization: service.token } })
      ).json()) as { data: { title: string; year: number }[] }
      assert.deepEqual(
        data.map(({ title, year }) => [title, year]),
        [
          ['Emma', 1815],
          ['nana', 1881],
          ['Ulysses', 1921],
        ],
      )
      await page.context().close()
    })
  })
