import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { Route } from 'playwright-core'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { page, usePage } from './page.ts'

const BOOK = /\/book\/\d+$/

describe('what is typed on the web page', { skip: browserMissing }, () => {
  const service = useService()
  usePage(() => service.url, 'Sula')
  let year = 1973
  let sula = 0

  before(async () => {
    sula = await service.createBook({ title: 'Sula', author: 'Toni Morrison', year })
  })

  const question = () => page.getByRole('alert').getByText('Discard your changes?')
  const typed = () => page.field('Title').inputValue()
  /** Saves a book, and closes its panel before the save fails. */
  async function failSave(title: string, texts: Readonly<Record<string, string>>): Promise<void> {
    const lost = Promise.withResolvers<void>()
    await page.route(BOOK, (route) =>
      route.request().method() === 'PUT' ? lost.promise.then(() => route.abort()) : route.fallback(),
    )
    await page.openBook(title, texts)
    await page.button('Save').click()
    await page.cancel()
    lost.resolve()
    await page.shows(`“${title}” was not saved.`)
  }

  it('is discarded only by the button that says so, and not by Escape, however often it is pressed', async () => {
    await page.addBook({ Title: 'Half a title' })
    await page.keys('Escape')
    await question().waitFor()
    await page.assertAccessible('discard')
    // Browsers let a dialog refuse Escape only once.
    for (let times = 2; times < 8; times++) {
      await page.keys('Escape')
      await page.waitForTimeout(50)
    }
    assert.equal(await typed(), 'Half a title')
    await page.button('Keep editing').click()
    await question().waitFor({ state: 'hidden' })
    await page.keyboard.type('!')
    await page.button('Cancel').click()
    // Another button has the focus.
    await page.keys('Enter')
    await question().waitFor({ state: 'hidden' })
    assert.equal(await typed(), 'Half a title!')
    await page.keys('Escape')
    await page.button('Discard').click()
    await page.showsNoDialog()
    await page.showsTitles('Sula')
  })

  it('is not asked about if there is nothing', async () => {
    await page.openBook('Sula')
    await page.field('Title').press('End')
    await page.keys('x', 'Backspace', 'Escape')
    await page.showsNoDialog()
  })

  it('is discarded by a deletion only after a question', async () => {
    await page.keepNotices()
    await page.openBook('Sula', { Author: 'T. Morrison' })
    await page.button('Delete').click()
    await question().waitFor()
    await page.button('Keep editing').click()
    assert.equal(await page.field('Author').inputValue(), 'T. Morrison')
    await page.button('Delete').click()
    await page.button('Discard').click()
    await page.button('Undo').click()
    await page.showsTitles('Sula')
  })

  for (const [what, type] of [
    ['', () => page.addBook({ Title: 'Half a title' })],
    [', also if its save has failed since its panel was closed', () => failSave('Sula', { Author: 'T. M.' })],
  ] as const)
    it(`is not lost by a reload without a question of the browser${what}`, async () => {
      await type()
      const before = await page.locator('body').innerText()
      const asked = page.waitForEvent('dialog')
      void page.reload().catch(() => {})
      const dialog = await asked
      assert.equal(dialog.type(), 'beforeunload')
      await dialog.dismiss()
      assert.equal(await page.locator('body').innerText(), before)
    })

  for (const [where, press] of [
    ['a field', () => page.field('Author').press('Enter')],
    ['the button that saves', () => page.button('Save').press('Enter')],
  ] as const)
    it(`does not replace the version of somebody else by a second Enter on ${where}`, async () => {
      await page.openBook('Sula', { Author: 'T. Morrison' })
      await service.updateBook(sula, { year: ++year })
      await press()
      await page.shows('Someone else has changed this book')
      await page.keys('Enter', 'Enter', 'Space')
      await page.field('Author').press('Enter')
      await page.waitForTimeout(300)
      await page.button('Overwrite with mine').waitFor()
      assert.equal((await service.readBook(sula)).author, 'Toni Morrison')
      await page.button('Use saved version').click()
      assert.equal(await page.locator('.row .year').textContent(), String(year))
      await page.escape()
    })

  it('comes back when the book whose save failed is opened from the list', async () => {
    await failSave('Sula', { Author: 'T. Morrison' })
    await page.openBook('Sula')
    assert.equal(await page.field('Author').inputValue(), 'T. Morrison')
    assert.equal(await page.button('Open').count(), 0)
  })

  it('is saved if only the response to the first attempt was lost', async () => {
    await page.openBook('Sula', { Author: 'T. M.' })
    const lose = async (route: Route) => {
      await route.fetch()
      await route.abort()
    }
    await page.route(BOOK, lose, { times: 1 })
    await page.choose('Save', 'Your changes are still here')
    await page.choose('Save', 'Saved “Sula”.')
    assert.equal((await service.readBook(sula)).author, 'T. M.')
  })

  it('in two panels whose saves failed comes back, however often one prefers to keep what is in the other', async () => {
    await service.createBook({ title: 'Jazz', author: 'Toni Morrison', year: 1992 })
    await failSave('Sula', { Author: 'T. Morrison' })
    await page.search('jazz', 'Jazz')
    await failSave('Jazz', { Author: 'Morrison' })
    await page.button('Open').first().click()
    assert.equal(await page.field('Author').inputValue(), 'T. Morrison')
    for (let times = 0; times < 2; times++) {
      await page.button('Open').click()
      await question().waitFor()
      await page.keys('Escape')
      await question().waitFor({ state: 'hidden' })
      assert.equal(await page.field('Author').inputValue(), 'T. Morrison')
    }
    await page.button('Open').click()
    await page.dialog().getByRole('button', { name: 'Discard' }).click()
    assert.equal(await page.field('Author').inputValue(), 'Morrison')
    assert.equal(await page.button('Open').count(), 0)
  })
})
