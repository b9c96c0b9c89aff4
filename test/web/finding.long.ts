import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { openTab, page, series, usePage } from './page.ts'

const BOOKS = [
  ['Nana', 'Émile Zola'],
  ['Emma', 'Jane Austen'],
  ['The Hobbit', 'J.R.R. Tolkien'],
  ['Nana', 'Emile Zola'],
  // Between these two in the order of titles, and in that of authors, which ignores punctuation.
  ['Emma', 'Jane “Austen”'],
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

describe('finding and adding books on the web page', { skip: browserMissing }, () => {
  const service = useService()
  usePage(() => service.url, 'Sula')

  before(async () => {
    for (const [title, author, year] of [
      ['Sula', 'Toni Morrison', 1973],
      ['Cien años de soledad', 'Gabriel García Márquez', 1967],
      ['Jazz', 'Toni Morrison', 1992],
      ['백년의 고독', 'はじめてのPython入門', 1999],
    ] as const)
      await service.createBook({ title, author, year })
  })

  const suggested = () => page.getByRole('group', { name: 'Suggestions' })
  const suggestions = (name?: string) => suggested().getByRole('button', name === undefined ? {} : { name })
  const isFocused = (label: string) =>
    page.getByLabel(label, { exact: true }).evaluate((element) => element.matches(':focus'))

  it('goes to the search by “/”, except in a field; marks what was found, and names it in the title of the window', async () => {
    await page.link('Sula').focus()
    await page.keyboard.type('/so/la')
    assert.ok(await isFocused('Search'))
    assert.equal(await page.getByLabel('Search').inputValue(), 'so/la')
    // What was typed may be a search of its own by now.
    await page.list(`${service.url}/?sort=id`, 'Sula')
    await page.search('anos garc', 'Cien años de soledad')
    assert.deepEqual(await page.locator('.row mark').allTextContents(), ['años', 'Garc'])
    assert.equal(await page.title(), 'anos garc – Book Catalogue')
    await page.goBack()
    await page.showsTitles('Sula')
    assert.equal(await page.title(), 'Book Catalogue')
  })

  it('shows the books of the author of a row', async () => {
    await page.link('Sula').focus()
    await page.keys('ArrowRight', 'Enter')
    await page.showsTitles('Sula', 'Jazz')
    assert.match(page.url(), /\?author=Toni\+Morrison&sort=id$/)
    assert.equal(await page.dialog().count(), 0)
    await page.button('Author: Toni Morrison, clear this filter').click()
    assert.ok(await isFocused('Search'))
    await page.showsTitles('Sula', 'Cien años de soledad')
  })

  it('adds one book after another', async () => {
    await page.addBook()
    for (const [index, title] of ['Home', 'Love'].entries()) {
      await page.fillIn({ Title: title, Year: '2003' })
      await page.choose('Save and add another', `${index + 1} added · last: “${title}”`)
      await page.waitUntil(`document.querySelector('[name=title]').value === ''`)
      assert.ok(await isFocused('Title'))
    }
    // Once, however often it is asked for.
    await page.fillIn({ Title: 'Mercy' })
    const held = await page.hold('POST', /\/book$/, () => page.keys('Enter'))
    await page.keys('Enter')
    await held.release()
    await page.showsNoDialog()
    await page.locator('.row.added', { hasText: 'Mercy' }).waitFor()
    assert.equal((await service.listBooks('q=mercy')).length, 1)
  })

  it('suggests the authors in the catalogue that have what is typed', async () => {
    await service.createBook({ title: 'Morrison in a title', author: 'Somebody Else' })
    for (const title of ['Beloved', 'Jazz', 'Paradise', 'Love'])
      await service.createBook({ title, author: 'Toni Morrison' })
    await service.createBook({ title: 'The Death of Jim Morrison', author: 'Ann Morrison' })
    await page.addBook({ Title: 'Sula', Author: 'MORRI' })
    await suggested().waitFor()
    assert.deepEqual(await suggestions().allTextContents(), ['Toni Morrison', 'Ann Morrison'])
    await page.assertAccessible('suggestions')
    await page.field('Author').focus()
    await page.keys('Tab', 'Enter')
    assert.equal(await page.field('Author').inputValue(), 'Toni Morrison')
    assert.ok(await isFocused('Author'))
    await page.shows('Already in the catalogue')
    assert.equal(await suggested().count(), 0)
    await page.fillIn({ Author: 'Nobody of that name' })
    await suggested().waitFor({ state: 'hidden' })
    await page.button('Cancel').click()
    await page.button('Discard').click()
    // Also for many books.
    await page.box('Sula').click()
    await page.button('Edit…').click()
    await page.fillIn({ Author: 'garcia marq' })
    await suggestions('Gabriel García Márquez').click()
    assert.equal(await page.field('Author').inputValue(), 'Gabriel García Márquez')
    assert.equal(await suggested().count(), 0)
  })

  it('asks for no password while an author is typed, and suggests none for what is no longer typed', async () => {
    await page.refuse(/q=toni/, 401)
    await page.addBook({ Author: 'toni' })
    await page.waitForResponse(/q=toni/)
    const held = await page.hold('GET', /q=python/, () => page.fillIn({ Author: 'python' }))
    await page.fillIn({ Author: 'gabriel' })
    await suggestions('Gabriel García Márquez').waitFor()
    await held.release()
    assert.deepEqual(await suggestions().allTextContents(), ['Gabriel García Márquez'])
    assert.equal(await page.dialog().count(), 1)
    // Nor an author who is typed already.
    const author = 'Gabriel García Márquez'
    await Promise.all([page.waitForResponse(/q=Gabriel\+/), page.fillIn({ Author: author })])
    await page.evaluate(`fetch('/healthz').then((response) => response.text())`)
    assert.equal(await suggested().count(), 0)
  })

  it('moves no button while it is pressed, neither for suggestions nor for likely duplicates', async () => {
    await service.createBook({ title: 'Pressed', author: 'MORRISON' })
    const held = await page.hold('GET', /q=morrison/, () =>
      page.addBook({ Title: 'Pressed', Author: 'morrison' }),
    )
    await page.button('Save').hover()
    await page.mouse.down()
    await page.shows('Already in the catalogue')
    await held.release()
    await page.mouse.up()
    await page.shows('Added “Pressed”.')
  })

  for (const [title, typed] of [
    ['Duplicate née', 'DUPLICATE NEE'],
    ['ガンダム', 'カ\u3099ンタ\u3099ム'],
    ['हिन्दी', 'हिन्\u200dदी'],
  ] as const)
    it(`warns of “${title}” that is there already, and no longer once it is another`, async () => {
      await service.createBook({ title, author: 'Anonymous', year: 2001 })
      await page.addBook({ Title: typed })
      await page.field('Author').focus()
      const twin = page.link(`${title}, Anonymous, 2001`)
      await twin.waitFor()
      await page.fillIn({ Author: 'Somebody else' })
      await twin.waitFor({ state: 'hidden' })
    })

  it('names likely duplicates of a book that is opened, but none of another author, nor a deleted one', async () => {
    for (const [title, author] of [
      ['Nací en Álamo', 'María Pérez'],
      ['NACI EN ALAMO', 'maria perez'],
      ['nací en álamo', 'Somebody else'],
    ] as const)
      await service.createBook({ title, author, year: 2003 })
    await page.goto(`${service.url}/?q=naci`)
    await page.openBook('Nací en Álamo')
    const links = page.dialog().getByRole('status').getByRole('link')
    await page.shows('Possible duplicate:')
    assert.deepEqual(await links.allTextContents(), ['NACI EN ALAMO, maria perez, 2003'])
    const other = await openTab(page, () => links.click())
    assert.equal(await other.field('Author').inputValue(), 'maria perez')
    await page.keys('Escape')
    await page.deleteBook('NACI EN ALAMO')
    for (const title of ['nací en álamo', 'Nací en Álamo']) {
      await Promise.all([page.waitForResponse(/q=nac/i), page.openBook(title)])
      await page.showsExactly('Link to this book')
      await page.evaluate(`fetch('/healthz').then((response) => response.text())`)
      assert.equal(await links.count(), 0)
    }
  })
})

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
    await page.button('Statistics').click()
    await page.getByRole('region', { name: 'Statistics' }).waitFor()
    const held = await page.hold('GET', /sort=author/, () => page.sortBy('Duplicates'))
    assert.equal(await page.getByText('Statistics').count(), 0)
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
