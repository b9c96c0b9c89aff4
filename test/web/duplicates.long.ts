import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import {
  assertAccessible,
  button,
  chooseInMenu,
  field,
  keepNotices,
  page,
  titles,
  usePage,
  waitForTitles,
  waitUntil,
} from './page.ts'

const BOOKS = [
  ['Nana', 'Émile Zola'],
  ['Emma', 'Jane Austen'],
  ['The Hobbit', 'J.R.R. Tolkien'],
  ['Nana', 'Emile Zola'],
  // Between these two in the order of titles.
  ['Emma', 'Alexander McCall Smith'],
  ['EMMA', 'jane austen'],
  ['Hobbit', 'J.R.R. Tolkien'],
  ['Germinal', 'Émile Zola'],
  ['', 'Émile Zola'],
  ['', 'Émile Zola'],
  ['nana', 'ÉMILE ZOLA'],
] as const

describe('likely duplicates on the web page', { skip: browserMissing }, () => {
  const service = useService()
  usePage(
    () => service.url,
    () => page.getByText(`${BOOKS.length} books`, { exact: true }).waitFor(),
  )

  before(async () => {
    for (const [i, [title, author]] of BOOKS.entries())
      await service.createBook({ title, author, year: 1800 + i })
  })

  const years = () => page.locator('.row .year').allInnerTexts()

  async function showDuplicates(): Promise<void> {
    await page.getByLabel('Sort by').selectOption('Duplicates')
    await page.getByText('Same title and author, apart from case and accents.').waitFor()
  }

  it('are listed side by side, the first one before its copies', async () => {
    await showDuplicates()
    await page.getByText('5 books', { exact: true }).waitFor()
    // By their authors, and those that are alike by their ids.
    assert.deepEqual(await titles(page), ['Nana', 'Nana', 'nana', 'Emma', 'EMMA'])
    assert.deepEqual(await years(), ['1800', '1803', '1810', '1801', '1805'])
    assert.equal(await page.locator('.row.copy').count(), 3)
    await assertAccessible(page, 'duplicates')
    await page.reload()
    await waitForTitles(page, ['Nana', 'Nana', 'nana', 'Emma', 'EMMA'])
    await page.goBack()
    await page.getByText(`${BOOKS.length} books`, { exact: true }).waitFor()
  })

  it('are those of the books that are searched for, or none', async () => {
    await page.getByLabel('Search').fill('emma')
    await showDuplicates()
    await waitForTitles(page, ['Emma', 'EMMA'])
    await page.getByLabel('Search').fill('hobbit')
    await page.getByText('No duplicates found').waitFor()
    await assertAccessible(page)
    await button('Show all books').click()
    await page.getByText(`${BOOKS.length} books`, { exact: true }).waitFor()
    assert.equal(await page.getByLabel('Sort by').inputValue(), '-id')
  })

  it('are selected but for the first of each, and leave the list with those that are deleted', async () => {
    await keepNotices(page)
    await page.getByRole('checkbox', { name: 'Select “Germinal”' }).click()
    await showDuplicates()
    await button('Select all but the first of each').click()
    await page.getByText('3 selected', { exact: true }).waitFor()
    assert.equal(await page.locator('.row.copy[aria-selected=true]').count(), 3)
    await assertAccessible(page)
    await button('Delete').click()
    await page.getByText('No duplicates found').waitFor()
    await button('Undo').click()
    await page.getByText('5 books', { exact: true }).waitFor()
    await page.getByText('3 selected', { exact: true }).waitFor()
  })

  it('are saved as a file, as they are listed', async () => {
    await showDuplicates()
    const [download] = await Promise.all([page.waitForEvent('download'), chooseInMenu(page, 'Export…')])
    const lines = readFileSync(await download.path(), 'utf8')
      .trim()
      .split('\r\n')
    assert.deepEqual(
      lines.slice(1).map((line) => line.replaceAll('"', '').split(',').at(-1)),
      ['1800', '1803', '1810', '1801', '1805'],
    )
  })

  it('are no longer listed once one of two has another title', async () => {
    await page.getByLabel('Search').fill('emma')
    await showDuplicates()
    await page.locator('.row.copy .title a').first().click()
    await field('Title').fill('Emma, volume 2')
    await button('Save').click()
    await page.getByText('No duplicates found').waitFor()
    await waitUntil(page, 'document.activeElement !== document.body')
    const book = { title: 'EMMA', author: 'jane austen' }
    const [{ id } = { id: 0 }] = await read('author=jane+austen')
    const options = { method: 'PUT', headers: { authorization: service.token }, body: JSON.stringify(book) }
    assert.equal((await fetch(`${service.url}/book/${id}`, options)).status, 200)
  })

  async function read(query: string): Promise<{ id: number }[]> {
    const headers = { authorization: service.token }
    const response = await fetch(`${service.url}/books?${query}`, { headers })
    return ((await response.json()) as { data: { id: number }[] }).data
  }
})

describe('more likely duplicates than can be selected', { skip: browserMissing }, () => {
  const service = useService((service) =>
    service.importBooks(
      Array.from({ length: 12_000 }, (_, i) => ({
        title: `Volume ${i % 6000}`,
        author: `Author ${i % 3}`,
        year: 2000,
      })),
    ),
  )
  usePage(() => `${service.url}/?sort=duplicates`)

  it('are listed in part, and the others once these are gone', async () => {
    await page.getByText('These are the first 10,000 likely duplicates. There are more.').waitFor()
    await page.getByText('10,000 books', { exact: true }).waitFor()
    await button('Select all but the first of each').click()
    await page.getByText('5,000 selected', { exact: true }).waitFor()
  })
})
