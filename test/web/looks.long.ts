import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { type CataloguePage, openCatalogue, usePages } from './page.ts'

/** Without scripts for which a machine that only runs tests has no letters. */
const EXAMPLES = readFileSync(join(import.meta.dirname, '../../examples/books.csv'), 'utf8')
  .split('\n')
  .filter((line) =>
    /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Common}\p{M}]*$/u.test(line),
  )
  .join('\n')

/** What each picture shows: the address and options of the page, and what is done there. */
const PICTURES: Record<string, [string, object, (page: CataloguePage) => Promise<unknown>]> = {
  'list-light': ['?year_min=1800', { colorScheme: 'light' }, () => Promise.resolve()],
  'list-dark': ['?year_min=1800', { colorScheme: 'dark' }, () => Promise.resolve()],
  'charts-light': ['?year_min=1800', { colorScheme: 'light' }, openCharts],
  'charts-dark': ['?year_min=1800', { colorScheme: 'dark' }, openCharts],
  phone: [
    '?q=the',
    { viewport: { width: 360, height: 560 }, isMobile: true, hasTouch: true },
    () => Promise.resolve(),
  ],
  edit: ['?q=kindred', {}, (page) => page.openBook('Kindred', { Year: '1980' })],
  'import-report': [
    '',
    {},
    async (page) => {
      const rows = 'Emma,Jane Austen,1815\nUlysses,James Joyce,about 1922\nDune,Frank Herbert\n'
      await page.chooseFile(`title,author,year\n${rows}`, 'my-books.csv')
      await page.getByText('Rows with errors are left out').click()
      await page.shows('"about 1922" is not a year')
      await page.button('Download errors (CSV)').scrollIntoViewIfNeeded()
    },
  ],
}

async function openCharts(page: CataloguePage): Promise<void> {
  await page.button('Statistics').click()
  await page.locator('.decades').waitFor()
}

/** The pictures of the README and of docs/web.md: this file with SCREENSHOTS=docs/images makes them anew. */
describe('the web page with the catalogue of the examples', { skip: browserMissing }, () => {
  const service = useService(async (service) => {
    const headers = { authorization: service.token, 'content-type': 'text/csv' }
    const response = await fetch(`${service.url}/books/import`, { method: 'POST', headers, body: EXAMPLES })
    assert.equal(response.status, 200)
  })
  const browser = usePages()

  const open = (query: string, options: object) =>
    openCatalogue(browser(), `${service.url}/${query}`, {
      viewport: { width: 900, height: 640 },
      ...options,
    })

  for (const [name, [query, options, act]] of Object.entries(PICTURES))
    it(`is accessible in the picture “${name}”`, async () => {
      const page = await open(query, options)
      await page.locator('.row .title').first().waitFor()
      await act(page)
      await page.assertAccessible(name)
    })

  it('is accessible in the picture “conflict”', async () => {
    const page = await open('?q=kindred', {})
    const [{ id } = assert.fail()] = await service.listBooks('title=Kindred')
    await page.openBook('Kindred', { Year: '1980' })
    await service.updateBook(id, { author: 'O. E. Butler' })
    await page.choose('Save', 'Someone else has changed this book')
    await page.assertAccessible('conflict')
  })
})
