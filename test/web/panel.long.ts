import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { Route } from 'playwright-core'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { page, series, usePage } from './page.ts'

const BOOK = /\/book\/\d+$/

describe('the panel of a book, beside the list', { skip: browserMissing }, () => {
  const service = useService((service) => service.importBooks(series(150)))
  usePage(() => service.url, 'Volume 0')

  const hash = (expected: string) => page.waitUntil(`location.hash === '${expected}'`)
  const has = (title: string) =>
    page.waitUntil(`document.querySelector('[name=title]')?.value === '${title}'`)
  const question = () => page.shows('Discard your changes?')

  it('is closed by a step back, which leaves the list as it is, and asks before it discards what is typed', async () => {
    await page.search('volume 1', 'Volume 1', 'Volume 10')
    await page.box('Volume 10').click()
    await page.openBook('Volume 1')
    await hash('#book=2')
    await page.goBack()
    await page.showsNoDialog()
    assert.equal(new URL(page.url()).search, '?q=volume+1&sort=id')
    await page.shows('1 selected')
    await page.showsTitles('Volume 1', 'Volume 10')
    await page.goForward()
    await has('Volume 1')
    // A click beside its fields.
    await page.getByRole('heading', { name: 'Edit book' }).click()
    await page.escape()
    await hash('')
    await page.addBook({ Title: 'Half a title' })
    await hash('#new')
    await page.goBack()
    await question()
    await hash('#new')
    await page.button('Keep editing').click()
    await has('Half a title')
    await page.goBack()
    await page.button('Discard').click()
    await page.showsNoDialog()
    await hash('')
  })

  it('shows the next book that is clicked, and asks before it discards what is typed', async () => {
    await page.openBook('Volume 3')
    await has('Volume 3')
    await page.openBook('Volume 5')
    await has('Volume 5')
    await hash('#book=6')
    await page.fillIn({ Author: 'Another' })
    await page.openBook('Volume 7')
    await question()
    await page.button('Keep editing').click()
    assert.equal(await page.field('Author').inputValue(), 'Another')
    await page.openBook('Volume 7')
    await page.button('Discard').click()
    await has('Volume 7')
    // One step back closes it, however many books were shown.
    await page.goBack()
    await page.showsNoDialog()
  })

  it('is not used by the second click of a double-click that opens it; on one button, both count', async () => {
    await page.button('Year').dblclick()
    await page.waitForURL(/sort=-year/)
    await page.openBook('Volume 3')
    const { x, y } = (await page.button('Delete').boundingBox()) ?? assert.fail('no button')
    await page.escape()
    await page.mouse.click(x + 9, y + 9)
    await page.button('Delete').waitFor()
    await page.mouse.down({ clickCount: 2 })
    await page.mouse.up({ clickCount: 2 })
    assert.equal(await page.locator('.notice').count(), 0)
    await page.locator('[name=title]:focus').waitFor()
    await page.mouse.click(x + 9, y + 9)
    await page.button('Undo').click()
  })

  it('is beside the list, which can be used, once a phone is turned; what is typed and the focus stay', async () => {
    await page.setViewportSize({ width: 390, height: 844 })
    await page.openBook('Volume 3', { Year: '1999' })
    await page.setViewportSize({ width: 844, height: 390 })
    await page.locator('#editor:not(:modal) [name=year]:focus').waitFor()
    await page.button('Statistics').click()
    assert.equal(await page.field('Year').inputValue(), '1999')
    await hash('#book=4')
  })

  it('leads to the book before and after, which the list shows', async () => {
    // The list says what is wrong if it cannot be read.
    await page.evaluate(`location.hash = '#book=121'`)
    await has('Volume 120')
    await page.route(/after=/, (route) => route.abort(), { times: 1 })
    await page.keys('Alt+ArrowDown')
    await page.getByRole('alert').getByText('The service is not responding').waitFor()
    assert.equal(await page.getByText('This book is not in the list').count(), 0)
    await page.openBook('Volume 1')
    await has('Volume 1')
    await page.keys('Alt+ArrowUp')
    await has('Volume 0')
    await page.button('Previous book (Alt+↑)').click()
    for (let next = 1; next < 40; next++) {
      await page.button('Next book (Alt+↓)').click()
      await has(`Volume ${next}`)
    }
    await page.locator('[aria-current=true]', { hasText: 'Volume 39' }).waitFor()
    await page.isInSight('[aria-current=true]')
  })

  it('is not led on by a late response once something else was done', async () => {
    const books: string[] = []
    page.on('request', (request) => books.push(...(BOOK.exec(request.url()) ?? [])))
    // The list is read to find the book, or only for the next one.
    for (const [id, act] of [
      [121, () => page.keyboard.type('Typed')],
      [100, () => page.escape()],
      [121, () => page.goBack()],
      [100, () => page.openBook('Volume 3')],
    ] as const) {
      await page.goto('about:blank')
      await page.list(`${service.url}/?sort=id`, 'Volume 0')
      await page.evaluate(`location.hash = '#book=${id}'`)
      await has(`Volume ${id - 1}`)
      const held = await page.hold('GET', /after=/, () => page.keys('Alt+ArrowDown'))
      await act()
      await held.release()
    }
    assert.deepEqual(books, ['/book/121', '/book/100', '/book/121', '/book/100', '/book/4'])
    await has('Volume 3')
  })

  it('stays while one searches', async () => {
    await page.openBook('Volume 4', { Author: 'Another' })
    await page.search('volume 9', 'Volume 9', 'Volume 90')
    assert.equal(await page.field('Author').inputValue(), 'Another')
    await hash('#book=5')
    await page.choose('Save', 'Saved “Volume 4”.')
    await page.showsNoDialog()
    await hash('')
    assert.equal(new URL(page.url()).search, '?q=volume+9&sort=id')
  })

  it('is what the address names, also after a step that also leads to another list', async () => {
    await page.openBook('Volume 6')
    await has('Volume 6')
    await page.link('Series').first().click()
    await page.waitForURL(/author=Series.*#book=7$/)
    await page.cancel()
    await hash('')
    await page.goBack()
    await has('Volume 6')
    await page.goForward()
    await page.showsNoDialog()
    await hash('')
    await page.waitForURL(/author=Series/)
    await page.goto(`${service.url}/?q=volume+8#new`)
    await page.getByRole('dialog', { name: 'Add book' }).waitFor()
    await page.goto(`${service.url}/?q=volume+8#book=9`)
    await has('Volume 8')
    await page.cancel()
    await hash('')
  })

  it('is closed by a step back also after a link to a book that was deleted', async () => {
    await page.list(`${service.url}/?q=volume+7#book=999`, 'Volume 7')
    await hash('')
    await page.openBook('Volume 7')
    await hash('#book=8')
    await page.goBack()
    await page.showsNoDialog()
    assert.equal(page.url(), `${service.url}/?q=volume+7`)
    // Nor does the address name it while another is shown.
    await page.openBook('Volume 7')
    await hash('#book=8')
    await page.evaluate(`location.hash = '#book=999'`)
    await hash('#book=8')
    await has('Volume 7')
  })

  it('can be opened again at once', async () => {
    // Its part of the page is there from then on.
    await page.addBook()
    await page.button('Cancel').click()
    await hash('')
    for (let times = 0; times < 5; times++) {
      await page.evaluate(`{
        const find = (text) => [...document.querySelectorAll('button')].find((each) => each.textContent.trim() === text)
        for (const text of ['Add book', 'Cancel', 'Add book']) find(text).click()
      }`)
      await hash('#new')
      await has('')
      await page.goBack()
      await page.showsNoDialog()
    }
  })
})

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
    await page.openBook('Sula')
    await page.field('Title').press('End')
    // Nothing is typed then, and nothing is asked.
    await page.keys('x', 'Backspace')
    await page.escape()
    await page.addBook({ Title: 'Half' })
    // This Escape ends the composition of an input method.
    const init = { key: 'Escape', isComposing: true, bubbles: true, cancelable: true }
    await page.field('Title').dispatchEvent('keydown', init)
    assert.equal(await question().count(), 0)
    await page.keys('Escape')
    await question().waitFor()
    // Whoever goes on typing keeps it.
    await page.fillIn({ Title: 'Half a title' })
    await question().waitFor({ state: 'hidden' })
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
      await page.list(`${service.url}/?year_max=${year}`, 'Sula')
      await page.openBook('Sula', { Author: 'T. Morrison' })
      await service.updateBook(sula, { year: ++year })
      await press()
      await page.shows('Someone else has changed this book')
      await page.keys('Enter', 'Enter', 'Space')
      await page.field('Author').press('Enter')
      await page.waitForTimeout(300)
      await page.button('Overwrite with mine').waitFor()
      assert.equal((await service.readBook(sula)).author, 'Toni Morrison')
      // The list shows it, even if it does not match, before the user has chosen one.
      await page.locator('.row .year', { hasText: String(year) }).waitFor()
      await page.button('Use saved version').click()
      assert.equal(await page.field('Year').inputValue(), String(year))
      await page.locator('[name=title]:focus').waitFor()
      await page.fillIn({ Year: `${++year}` })
      await page.choose('Save', 'Saved “Sula”.')
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
    await failSave('Sula', { Author: 'T. Mor.' })
    // Also when its book is opened from the list.
    await page.openBook('Sula')
    assert.equal(await page.field('Author').inputValue(), 'T. Mor.')
    assert.equal(await page.button('Open').count(), 0)
    await page.button('Cancel').click()
    await page.button('Discard').click()
    await failSave('Sula', { Author: 'T.' })
    await page.locator('.notice').getByRole('button', { name: 'Discard' }).click()
    await page.openBook('Sula')
    assert.notEqual(await page.field('Author').inputValue(), 'T.')
    await page.escape()
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
