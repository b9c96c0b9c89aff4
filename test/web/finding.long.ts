import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { openTab, page, usePage } from './page.ts'

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
    await page.search('anos garc', 'Cien años de soledad')
    assert.deepEqual(await page.locator('.row mark').allTextContents(), ['años', 'Garc'])
    assert.equal(await page.title(), 'anos garc – Book Catalogue')
    await page.assertAccessible('found')
    await page.goBack()
    await page.showsTitles('Sula')
    assert.equal(await page.title(), 'Book Catalogue')
  })

  it('shows the books of the author of a row, with the mouse and with the keyboard', async () => {
    const withKeys = async () => {
      await page.link('Sula').focus()
      await page.keys('ArrowRight', 'Enter')
    }
    for (const act of [() => page.locator('.row .author a').first().click(), withKeys]) {
      await act()
      await page.showsTitles('Sula', 'Jazz')
      assert.match(page.url(), /\?author=Toni\+Morrison&sort=id$/)
      assert.equal(await page.dialog().count(), 0)
      await page.button('Author: Toni Morrison, clear this filter').click()
      assert.ok(await isFocused('Search'))
      await page.showsTitles('Sula', 'Cien años de soledad')
    }
  })

  it('adds one book after another', async () => {
    await page.addBook()
    for (const [index, title] of ['Home', 'Love'].entries()) {
      await page.fillIn({ Title: title, Year: '2003' })
      await page.choose('Save and add another', `${index + 1} added · last: “${title}”`)
      await page.waitUntil(`document.querySelector('[name=title]').value === ''`)
      assert.ok(await isFocused('Title'))
    }
    await page.escape()
    await page.locator('.row.added', { hasText: 'Love' }).waitFor()
  })

  it('suggests the authors in the catalogue that have what is typed', async () => {
    await service.createBook({ title: 'Morrison in a title', author: 'Somebody Else' })
    await service.createBook({ title: 'The Death of Jim Morrison', author: 'Ann Morrison' })
    await page.addBook({ Author: 'MORRI' })
    await suggested().waitFor()
    assert.deepEqual(await suggestions().allTextContents(), ['Toni Morrison', 'Ann Morrison'])
    await page.assertAccessible('suggestions')
    await page.field('Author').focus()
    await page.keys('Tab', 'Enter')
    assert.equal(await page.field('Author').inputValue(), 'Toni Morrison')
    assert.ok(await isFocused('Author'))
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

  it('names likely duplicates of a book that is opened, but none of another author', async () => {
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
    await Promise.all([page.waitForResponse(/q=nac.*Somebody/), page.openBook('nací en álamo')])
    await page.button('Delete').waitFor()
    assert.equal(await links.count(), 0)
  })
})
