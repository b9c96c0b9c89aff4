import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { page, usePage } from './page.ts'

/** Without scripts for which a machine that only runs tests has no letters. */
const EXAMPLES = readFileSync(join(import.meta.dirname, '../../examples/books.csv'), 'utf8')
  .split('\n')
  .filter((line) =>
    /^[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Common}\p{M}]*$/u.test(line),
  )
  .join('\n')

/** The pictures of the README and of docs/web.md: this file with SCREENSHOTS=docs/images makes them anew. */
describe('the web page with the catalogue of the examples', { skip: browserMissing }, () => {
  const service = useService()
  usePage(() => service.url)

  /** Lists books in a window of this size. */
  async function show(query: string, width = 900, height = 640): Promise<void> {
    await page.setViewportSize({ width, height })
    await page.goto(`${service.url}/${query}`)
    await page.locator('.row .title').first().waitFor()
  }

  it('is accessible, also in dark colours and on a phone', async () => {
    await page.chooseFile(EXAMPLES)
    await page.importButton().click()
    await page.shows(/^Imported/)
    for (const colorScheme of ['dark', 'light'] as const) {
      await page.emulateMedia({ colorScheme })
      await show('?year_min=1800')
      await page.assertAccessible(`list-${colorScheme}`)
      await page.button('Statistics').click()
      await page.locator('.decades').waitFor()
      await page.assertAccessible(`charts-${colorScheme}`)
    }
    await show('?q=the', 360, 560)
    await page.assertAccessible('phone')
    await show('?q=kindred')
    await page.openBook('Kindred', { Year: '1980' })
    await page.assertAccessible('edit')
    const [{ id } = assert.fail()] = await service.listBooks('title=Kindred')
    await service.updateBook(id, { author: 'O. E. Butler' })
    await page.choose('Save', 'Someone else has changed this book')
    await page.assertAccessible('conflict')
    await page.button('Cancel').click()
    await page.button('Discard').click()
    const rows = 'Emma,Jane Austen,1815\nUlysses,James Joyce,about 1922\nDune,Frank Herbert\n'
    await show('')
    await page.chooseFile(`title,author,year\n${rows}`, 'my-books.csv')
    await page.getByText('Rows with errors are left out').click()
    await page.shows('"about 1922" is not a year')
    await page.button('Download errors (CSV)').scrollIntoViewIfNeeded()
    await page.assertAccessible('import-report')
  })
})
