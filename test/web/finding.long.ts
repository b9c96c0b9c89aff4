import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import {
  assertAccessible,
  button,
  field,
  holdResponse,
  link,
  page,
  usePage,
  waitForTitles,
  waitUntil,
} from './page.ts'

describe('finding and adding books on the web page', { skip: browserMissing }, () => {
  const service = useService()
  usePage(
    () => service.url,
    () => waitForTitles(page, ['Sula']),
  )

  before(async () => {
    await service.createBook({ title: 'Sula', author: 'Toni Morrison', year: 1973 })
    await service.createBook({ title: 'Cien años de soledad', author: 'Gabriel García Márquez', year: 1967 })
    await service.createBook({ title: 'Jazz', author: 'Toni Morrison', year: 1992 })
    await service.createBook({ title: '백년의 고독', author: 'はじめてのPython入門', year: 1999 })
  })

  const suggested = () => page.getByRole('group', { name: 'Suggestions' })
  const suggestions = (name?: string) => suggested().getByRole('button', name === undefined ? {} : { name })
  const isFocused = (label: string) =>
    page.getByLabel(label, { exact: true }).evaluate((element) => element.matches(':focus'))

  it('goes to the search by “/”, except where one types', async () => {
    await link('Sula').focus()
    await page.keyboard.type('/so/la')
    assert.ok(await isFocused('Search'))
    assert.equal(await page.getByLabel('Search').inputValue(), 'so/la')
    await button('Add book').click()
    await field('Title').waitFor()
    await page.keyboard.type('a/b')
    assert.equal(await field('Title').inputValue(), 'a/b')
  })

  it('marks what was found, and names it in the title of the window', async () => {
    await page.getByLabel('Search').fill('anos garc')
    await waitForTitles(page, ['Cien años de soledad'])
    assert.deepEqual(await page.locator('.row mark').allTextContents(), ['años', 'Garc'])
    assert.equal(await page.title(), 'anos garc – Book Catalogue')
    await assertAccessible(page, 'found')
    await page.goBack()
    await waitForTitles(page, ['Sula'])
    assert.equal(await page.title(), 'Book Catalogue')
    await page.getByLabel('Search').fill('python 도')
    await waitForTitles(page, ['백년의 고독'])
    assert.deepEqual(await page.locator('.row mark').allTextContents(), ['독', 'Python'])
    await page.getByLabel('Search').fill('???')
    await page.getByText('No books found').waitFor()
  })

  it('shows the books of the author of a row, with the mouse and with the keyboard', async () => {
    for (const act of [
      () => page.locator('.row .author a').first().click(),
      async () => {
        await link('Sula').focus()
        await page.keyboard.press('ArrowRight')
        await page.keyboard.press('Enter')
      },
    ]) {
      await act()
      await waitForTitles(page, ['Sula', 'Jazz'])
      assert.match(page.url(), /\?author=Toni\+Morrison&sort=id$/)
      assert.equal(await page.getByRole('dialog').count(), 0)
      await button('Author: Toni Morrison, clear this filter').click()
      assert.ok(await isFocused('Search'))
      await waitForTitles(page, ['Sula', 'Cien años de soledad'])
    }
  })

  it('adds one book after another', async () => {
    await button('Add book').click()
    for (const [index, title] of ['Home', 'Love'].entries()) {
      await field('Title').fill(title)
      await field('Year').fill('2003')
      await button('Save and add another').click()
      await page.getByText(`${index + 1} added · last: “${title}”`).waitFor()
      await waitUntil(page, `document.querySelector('[name=title]').value === ''`)
      assert.ok(await field('Title').evaluate((element) => element.matches(':focus')))
    }
    await assertAccessible(page)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.locator('.row.added', { hasText: 'Love' }).waitFor()
  })

  it('suggests the authors in the catalogue that have what is typed', async () => {
    await service.createBook({ title: 'Morrison in a title', author: 'Somebody Else', year: 1 })
    await service.createBook({ title: 'The Death of Jim Morrison', author: 'Ann Morrison', year: 2 })
    await button('Add book').click()
    await field('Author').fill('MORRI')
    await suggested().waitFor()
    assert.deepEqual(await suggestions().allTextContents(), ['Toni Morrison', 'Ann Morrison'])
    await assertAccessible(page, 'suggestions')
    await field('Author').focus()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    assert.equal(await field('Author').inputValue(), 'Toni Morrison')
    assert.ok(await isFocused('Author'))
    assert.equal(await suggested().count(), 0)
    await field('Author').fill('入門')
    await suggestions('はじめてのPython入門').waitFor()
    await field('Author').fill('Nobody of that name')
    await suggested().waitFor({ state: 'hidden' })
  })

  it('asks for no password while an author is typed', async () => {
    await page.route(/q=toni/, (route) =>
      route.fulfill({ status: 401, json: { status: 401, message: 'Invalid token', data: null } }),
    )
    await button('Add book').click()
    await field('Author').fill('toni')
    await page.waitForResponse(/q=toni/)
    await field('Author').fill('gabriel')
    await suggestions('Gabriel García Márquez').waitFor()
    assert.equal(await page.getByRole('dialog').count(), 1)
  })

  it('suggests no authors for what is no longer typed', async () => {
    const held = await holdResponse(page, 'GET', /q=toni/)
    await button('Add book').click()
    await field('Author').fill('toni')
    await held.answered
    await field('Author').fill('gabriel')
    await suggestions('Gabriel García Márquez').waitFor()
    await held.release()
    assert.deepEqual(await suggestions().allTextContents(), ['Gabriel García Márquez'])
  })

  it('suggests authors for many books', async () => {
    await page.getByRole('checkbox', { name: 'Select “Sula”', exact: true }).click()
    await button('Edit…').click()
    await field('Author').fill('garcia marq')
    await suggestions('Gabriel García Márquez').click()
    assert.equal(await field('Author').inputValue(), 'Gabriel García Márquez')
    assert.ok(await isFocused('Author'))
    await assertAccessible(page)
    await button('Cancel').click()
  })

  it('warns of a book that is there already, and no longer once it is another', async () => {
    await button('Add book').click()
    await field('Title').fill('CIEN ANOS DE SOLEDAD')
    await field('Author').focus()
    const link = page.getByRole('link', { name: 'Cien años de soledad, Gabriel García Márquez, 1967' })
    await link.waitFor()
    await assertAccessible(page, 'duplicate')
    await field('Author').fill('Somebody else')
    await link.waitFor({ state: 'hidden' })
    await field('Year').focus()
  })

  it('names likely duplicates of a book that is opened, but none of another author', async () => {
    for (const [title, author] of [
      ['Nací en Álamo', 'María Pérez'],
      ['NACI EN ALAMO', 'maria perez'],
      ['nací en álamo', 'Somebody else'],
    ] as const)
      await service.createBook({ title, author, year: 2003 })
    await page.goto(`${service.url}/?q=naci`)
    await link('Nací en Álamo').click()
    const links = page.getByRole('dialog').getByRole('status').getByRole('link')
    await page.getByText('Possible duplicate:').waitFor()
    assert.deepEqual(await links.allTextContents(), ['NACI EN ALAMO, maria perez, 2003'])
    await assertAccessible(page, 'possible-duplicate')
    const [other] = await Promise.all([page.context().waitForEvent('page'), links.click()])
    await other.getByRole('dialog').getByLabel('Author').waitFor()
    assert.equal(await other.getByRole('dialog').getByLabel('Author').inputValue(), 'maria perez')
    await other.close()
    await page.keyboard.press('Escape')
    await link('nací en álamo').click()
    await field('Title').waitFor()
    await page.waitForTimeout(500)
    assert.equal(await links.count(), 0)
  })

  for (const [title, typed] of [
    ['ガンダム', 'カ\u3099ンタ\u3099ム'],
    ['हिन्दी', 'हिन्\u200dदी'],
    ['กำลังใจ', 'กำลังใจ'],
    ['می\u200cخواهم', 'می\u200cخواهم'],
  ] as const)
    it(`warns of “${title}” that is there already`, async () => {
      await service.createBook({ title, author: 'Anonymous', year: 2001 })
      await button('Add book').click()
      await field('Title').fill(typed)
      await field('Author').focus()
      await page.getByRole('link', { name: `${title}, Anonymous, 2001` }).waitFor()
    })

  it('shows a long title or author no wider than the window', async () => {
    const [title, author] = ['W'.repeat(500), 'X'.repeat(480)]
    await service.createBook({ title, author, year: 2001 })
    await page.goto(`${service.url}/?author=${author}`)
    await page.getByRole('button', { name: /^Author: X+/ }).waitFor()
    await page.setViewportSize({ width: 390, height: 740 })
    await button('Add book').click()
    await field('Title').fill(title)
    await field('Author').focus()
    await page.getByRole('link', { name: /^W+…, X+…, 2001$/ }).waitFor()
    for (const selector of ['html', '#editor'])
      assert.ok(
        await page.locator(selector).evaluate((element) => element.scrollWidth <= element.clientWidth),
        selector,
      )
    await assertAccessible(page)
  })

  it('says in which order the books are, however that was chosen', async () => {
    const order = async (expected: string) => {
      await page.waitForURL((url) => (url.searchParams.get('sort') ?? '') === expected)
      await waitUntil(page, `document.querySelector('.sort select').value === '${expected}'`)
    }
    await page.getByLabel('Sort by').selectOption('Title A–Z')
    await page.getByLabel('Sort by').selectOption('Author A–Z')
    await order('author')
    await button('Title').click()
    await order('title')
    await button('Year').click()
    await order('year')
    await page.goBack()
    await order('title')
    await page.goBack()
    await order('author')
  })
})
