import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { page, series, usePage } from './page.ts'

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

/** By their authors, and those that are alike by their ids. */
const [TITLES, YEARS] = [
  ['Nana', 'Nana', 'nana', 'Emma', 'EMMA'],
  ['1800', '1803', '1810', '1801', '1805'],
]

describe('likely duplicates on the web page', { skip: browserMissing }, () => {
  const service = useService()
  usePage(() => service.url, 'Nana')

  before(async () => {
    for (const [i, [title, author]] of BOOKS.entries())
      await service.createBook({ title, author, year: 1800 + i })
  })

  async function showDuplicates(): Promise<void> {
    await page.sortBy('Duplicates')
    await page.shows('Same title and author, apart from case and accents.')
  }

  it('are listed side by side, the first one before its copies, and saved as a file like this once they are listed', async () => {
    const files: string[] = []
    page.on('download', (file) => files.push(file.suggestedFilename()))
    const held = await page.hold('GET', /sort=author/, () => page.sortBy('Duplicates'))
    await page.chooseInMenu('Export…')
    await page.locator('.notice', { hasText: 'Loading…' }).waitFor()
    await held.release()
    await page.shows('Same title and author, apart from case and accents.')
    await page.showsExactly('5 books')
    assert.deepEqual(await page.titles(), TITLES)
    assert.deepEqual(await page.locator('.row .year').allInnerTexts(), YEARS)
    assert.equal(await page.locator('.row.copy').count(), 3)
    await page.assertAccessible('duplicates')
    const [file] = await Promise.all([page.waitForEvent('download'), page.chooseInMenu('Export…')])
    const text = readFileSync(await file.path(), 'utf8')
    assert.deepEqual(text.match(/18\d\d/g), YEARS)
    await page.reload()
    await page.showsTitles(...TITLES)
    await page.route(/sort=author/, (route) => route.abort())
    await page.reload()
    await page.getByRole('heading', { name: 'The service is not responding' }).waitFor()
    await page.chooseInMenu('Export…')
    await page.shows('Try again in a moment.')
    assert.equal(files.length, 1)
  })

  it('are those of the books that are searched for, or none', async () => {
    await page.search('emma')
    await showDuplicates()
    await page.showsTitles('Emma', 'EMMA')
    await page.search('hobbit')
    await page.shows('No duplicates found')
    await page.button('Show all books').click()
    await page.showsExactly('11 books')
    assert.equal(await page.getByLabel('Sort by').inputValue(), '-id')
  })

  it('are selected but for the first of each, and leave the list with those that are deleted', async () => {
    await page.keepNotices()
    await page.box('Germinal').click()
    await showDuplicates()
    await page.button('Select all but the first of each').click()
    await page.showsExactly('3 selected')
    assert.equal(await page.locator('.row.copy[aria-selected=true]').count(), 3)
    await page.choose('Delete', 'No duplicates found')
    await page.button('Undo').click()
    await page.showsExactly('5 books')
    await page.showsExactly('3 selected')
    // They stay listed as long as there are two, and selected as long as they are listed.
    await page.deleteBook('Emma')
    await page.showsTitles('Nana', 'Nana', 'nana')
    await page.showsExactly('2 selected')
    await page.locator('.row.copy .title a').first().click()
    await page.fillIn({ Title: 'Nana, volume 2' })
    await page.choose('Save', 'Saved “Nana, volume 2”.')
    await page.showsExactly('1 selected')
    assert.deepEqual(await page.titles(), ['Nana', 'nana'])
    assert.equal(await page.locator('.row.copy[aria-selected=true]').count(), 1)
    await page.button('Undo').click()
    await page.showsTitles('Nana', 'nana', 'Emma', 'EMMA')
    await page.showsExactly('1 selected')
    await page.search('emma')
    await page.showsTitles('Emma', 'EMMA')
    await page.locator('.row.copy .title a').first().click()
    await page.fillIn({ Title: 'Emma, volume 2' })
    await page.choose('Save', 'No duplicates found')
    await page.waitUntil('document.activeElement !== document.body')
  })
})

describe('more likely duplicates than can be selected', { skip: browserMissing }, () => {
  const service = useService((service) => service.importBooks([...series(6000), ...series(6000)]))
  usePage(() => `${service.url}/?sort=duplicates`)

  it('are listed in part, and the others once these are gone', async () => {
    await page.shows('These are the first 10,000 likely duplicates. There are more.')
    await page.showsExactly('10,000 books')
    await page.button('Select all but the first of each').click()
    await page.showsExactly('5,000 selected')
  })
})
