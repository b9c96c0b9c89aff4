import assert from 'node:assert/strict'
import { afterEach, before, beforeEach, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { browserMissing, useBrowser } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { assertAccessible, openCatalogue, screenshot, waitForTitles } from './page.ts'

describe('finding and adding books on the web page', { skip: browserMissing }, () => {
  const service = useService()
  const browser = useBrowser()
  let page: Page

  before(async () => {
    await service.createBook({ title: 'Sula', author: 'Toni Morrison', year: 1973 })
    await service.createBook({ title: 'Cien años de soledad', author: 'Gabriel García Márquez', year: 1967 })
    await service.createBook({ title: 'Jazz', author: 'Toni Morrison', year: 1992 })
    await service.createBook({ title: '백년의 고독', author: 'はじめてのPython入門', year: 1999 })
  })
  beforeEach(async () => {
    page = await openCatalogue(browser(), service.url)
    await waitForTitles(page, ['Sula'])
  })
  afterEach(() => page.context().close())

  const button = (name: string) => page.getByRole('button', { name, exact: true })
  const field = (label: string) => page.getByRole('dialog').getByLabel(label)
  const isFocused = (label: string) => page.getByLabel(label).evaluate((element) => element.matches(':focus'))

  it('goes to the search by “/”, except where one types', async () => {
    await button('Sula').focus()
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
    await assertAccessible(page)
    await screenshot(page, 'found')
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
      () => page.locator('.row .author button').first().click(),
      async () => {
        await button('Sula').focus()
        await page.keyboard.press('ArrowRight')
        await page.keyboard.press('Enter')
      },
    ]) {
      await act()
      await waitForTitles(page, ['Sula', 'Jazz'])
      assert.match(page.url(), /\?author=Toni\+Morrison$/)
      assert.equal(await page.getByRole('dialog').count(), 0)
      await page.getByRole('button', { name: 'Author: Toni Morrison' }).click()
      assert.ok(await isFocused('Search'))
      await waitForTitles(page, ['Sula', 'Cien años de soledad'])
    }
  })

  it('adds one book after another', async () => {
    await button('Add book').click()
    for (const title of ['Home', 'Love']) {
      await field('Title').fill(title)
      await field('Year').fill('2003')
      await button('Save and add another').click()
      await page.getByText(`Added “${title}”.`).waitFor()
      await page.waitForFunction(`document.querySelector('[name=title]').value === ''`)
      assert.ok(await field('Title').evaluate((element) => element.matches(':focus')))
    }
    await assertAccessible(page)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.locator('.row.added', { hasText: 'Love' }).waitFor()
  })

  it('warns of a book that is there already, and no longer once it is another', async () => {
    await button('Add book').click()
    await field('Title').fill('CIEN ANOS DE SOLEDAD')
    await field('Author').focus()
    const link = page.getByRole('link', { name: 'Cien años de soledad, Gabriel García Márquez, 1967' })
    await link.waitFor()
    await assertAccessible(page)
    await screenshot(page, 'duplicate')
    await field('Author').fill('Somebody else')
    await link.waitFor({ state: 'hidden' })
    await field('Year').focus()
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
    for (const selector of ['html', '#editor dialog'])
      assert.ok(
        await page.locator(selector).evaluate((element) => element.scrollWidth <= element.clientWidth),
        selector,
      )
    await assertAccessible(page)
  })

  it('says in which order the books are, however that was chosen', async () => {
    const order = async (expected: string) => {
      await page.waitForURL((url) => (url.searchParams.get('sort') ?? '') === expected)
      await page.waitForFunction(`document.querySelector('.sort select').value === '${expected}'`)
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
