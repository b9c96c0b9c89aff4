import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { browserMissing, useBrowser } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { assertAccessible, chooseInMenu, openCatalogue, screenshot } from './page.ts'

/** Without scripts for which a machine that only runs tests has no letters. */
const EXAMPLES = readFileSync(join(import.meta.dirname, '../../examples/books.csv'), 'utf8')
  .split('\n')
  .filter((line) =>
    /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Common}\p{M}]*$/u.test(line),
  )
  .join('\n')

/** The pictures of the README and of docs/web.md: this file with SCREENSHOTS=docs/images makes them anew. */
describe('the web page with the catalogue of the examples', { skip: browserMissing }, () => {
  const service = useService(async (service) => {
    const headers = { authorization: service.token, 'content-type': 'text/csv' }
    const response = await fetch(`${service.url}/books/import`, { method: 'POST', headers, body: EXAMPLES })
    assert.equal(response.status, 200)
  })
  const browser = useBrowser()

  const viewport = { width: 900, height: 640 }

  async function open(query: string, options: BrowserContextOptions = {}): Promise<Page> {
    const page = await openCatalogue(browser(), `${service.url}/${query}`, { viewport, ...options })
    await page
      .getByText(/^\d+ books?$/)
      .first()
      .waitFor()
    return page
  }

  /** Once everything is there, and nothing moves. */
  async function keep(page: Page, name: string): Promise<void> {
    await assertAccessible(page, name)
    await page.context().close()
  }

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`shows the list and the charts, in ${colorScheme}`, async () => {
      const page = await open('?year_min=1800', { colorScheme })
      await screenshot(page, `list-${colorScheme}`)
      await page.getByRole('button', { name: 'Statistics' }).click()
      await page.locator('.decades').waitFor()
      await keep(page, `charts-${colorScheme}`)
    })
  }

  it('shows a search on a phone', async () => {
    const page = await open('?q=the', {
      viewport: { width: 360, height: 560 },
      isMobile: true,
      hasTouch: true,
    })
    await keep(page, 'phone')
  })

  it('shows a book that is edited, and two versions of it', async () => {
    const page = await open('?q=kindred')
    await page.getByRole('link', { name: 'Kindred' }).click()
    await page.getByLabel('Year', { exact: true }).fill('1980')
    await assertAccessible(page, 'edit')
    const id = await readId('Kindred')
    const headers = { authorization: service.token }
    const body = JSON.stringify({ author: 'O. E. Butler' })
    assert.equal((await fetch(`${service.url}/book/${id}`, { method: 'PUT', headers, body })).status, 200)
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Someone else has changed this book').waitFor()
    await keep(page, 'conflict')
  })

  it('shows what is wrong with a file', async () => {
    const page = await open('')
    await chooseInMenu(page, 'Import…')
    const text =
      'title,author,year\nEmma,Jane Austen,1815\nUlysses,James Joyce,about 1922\nDune,Frank Herbert\n'
    const file = { name: 'my-books.csv', mimeType: 'text/csv', buffer: Buffer.from(text) }
    await page.getByLabel('File').setInputFiles(file)
    await page.getByText('Rows with errors are left out').click()
    await page.getByText('"about 1922" is not a year').waitFor()
    await page.getByRole('button', { name: 'Download errors (CSV)' }).scrollIntoViewIfNeeded()
    await keep(page, 'import-report')
  })

  async function readId(title: string): Promise<number | undefined> {
    const headers = { authorization: service.token }
    const response = await fetch(`${service.url}/books?title=${title}`, { headers })
    return ((await response.json()) as { data: { id: number }[] }).data[0]?.id
  }
})
