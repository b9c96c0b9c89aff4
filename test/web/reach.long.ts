import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { until } from '../support/until.ts'
import { useService } from '../support/use-service.ts'
import { page, series, usePage } from './page.ts'

const BOOKS = 450

describe('the web page in small windows and with the keyboard alone', { skip: browserMissing }, () => {
  const service = useService((service) =>
    service.importBooks(
      series(BOOKS).map((book, i) => ({ ...book, author: `Author ${i % 3}`, year: 1900 + (i % 100) })),
    ),
  )
  usePage(() => service.url, 'Volume 0')

  /** The titles of the rows that are seen from top to bottom, with nothing over them. */
  const wholeRows = () =>
    page.evaluate(`[...document.querySelectorAll('.row')].filter((row) => {
      const { left, top, bottom } = row.getBoundingClientRect()
      return [top + 2, bottom - 2].every((y) => row.contains(document.elementFromPoint(left + 20, y)))
    }).map((row) => row.querySelector('.title')?.textContent.trim() ?? '…')`) as Promise<string[]>

  /** What has the focus: a cell of the list by its title and column, or the text of another element. */
  const focused = () =>
    page.evaluate(`{
      const element = document.activeElement
      const row = element.closest('.row')
      row ? row.querySelector('.title').textContent.trim() + ' / ' + element.closest('[role=gridcell]').className
        : element === document.body ? 'nothing' : element.textContent.trim() || element.name
    }`) as Promise<string>

  async function untilFocused(expected: string): Promise<void> {
    // Until nothing more is drawn that may take the focus away.
    await page.waitForTimeout(100)
    await until(expected, async () => (await focused()) === expected)
  }

  for (const [what, width, height, least, isOpen] of [
    ['the smallest window of WCAG 1.4.10', 320, 256, 3, false],
    ['a phone on its side, with the charts open', 740, 360, 5, true],
    ['a laptop, with the charts open', 1366, 625, 10, true],
  ] as const)
    it(`shows ${least} rows and a whole dialog in the window of ${what}`, async () => {
      await page.setViewportSize({ width, height })
      if (isOpen) {
        await page.button('Statistics').click()
        await page.locator('.authors').waitFor()
      }
      await page.mouse.move(width / 2, height - 40)
      // As a wheel scrolls: whatever scrolls there.
      await until(`${least} rows`, async () => {
        await page.mouse.wheel(0, 120)
        return (await wholeRows()).length >= least
      })
      await page.assertFits()
      await page.assertAccessible(`small-${width}x${height}-scrolled`)
      await page.openBook('Volume 3', { Year: 'nonsense' })
      await page.choose('Save', '“nonsense” is not a year')
      await page.assertFits('#editor')
      await page.assertAccessible(`small-${width}x${height}-dialog`)
    })

  for (const [where, viewport] of [
    ['where the list scrolls', { width: 1100, height: 800 }],
    ['where the page scrolls', { width: 640, height: 360 }],
  ] as const)
    it(`goes through the list with the keys of a grid, ${where}`, async () => {
      await page.setViewportSize(viewport)
      await page.getByLabel('Sort by').focus()
      // "Statistics" is between them.
      await page.keys('Tab', 'Tab')
      for (const [keys, expected] of [
        [[], 'Volume 0 / title'],
        [['ArrowDown', 'ArrowDown', 'ArrowRight'], 'Volume 2 / author'],
        [['End'], 'Volume 2 / year'],
        [['Home'], 'Volume 2 / select'],
      ] as const) {
        await page.keys(...keys)
        assert.equal(await focused(), expected)
      }
      for (let before = 2, times = 0; times < 3; times++) {
        await page.keys('PageDown')
        await until('a row further down is seen', async () => {
          const [title = ''] = (await focused()).split(' / ')
          const isFurther = Number(title.split(' ')[1]) > before
          if (isFurther) before = Number(title.split(' ')[1])
          return isFurther && (await wholeRows()).includes(title)
        })
      }
      // Far beyond what is loaded.
      await page.keys('Control+End')
      const last = page.locator('.row', { hasText: `Volume ${BOOKS - 1}` })
      await last.locator('.year:focus').waitFor()
      await page.keys('PageUp', 'ArrowUp')
      assert.match(await focused(), /^Volume 4[34]\d \/ year$/)
      await page.keys('Control+Home', 'PageUp')
      assert.equal(await focused(), 'Volume 0 / select')
      await page.keys('ArrowRight', 'ArrowUp')
      // A narrow window has “Sort by” instead of a head.
      if (viewport.width > 640) {
        assert.equal(await focused(), 'Title')
        await page.keys('ArrowRight', 'ArrowRight', 'Enter')
        await page.locator('[aria-sort=ascending]').waitFor()
        assert.equal(await focused(), 'Year')
      } else assert.equal(await focused(), 'Volume 0 / title')
    })

  it('keeps the focus in the list when it is scrolled away by something else, with one stop of the Tab key', async () => {
    await page.link('Volume 1').focus()
    await page.keys('ArrowDown')
    await page.scrollTo(80 * 36)
    await page.link('Volume 90').waitFor()
    assert.equal(await focused(), 'Volume 2 / title')
    await page.assertAccessible()
    await page.keys('ArrowDown')
    assert.equal(await focused(), 'Volume 3 / title')
    assert.ok((await wholeRows()).includes('Volume 3'))
    await page.button('Statistics').focus()
    await page.keys('Tab', 'ArrowDown', 'Tab')
    assert.ok(!(await focused()).startsWith('Volume'), await focused())
    await page.keys('Shift+Tab')
    assert.equal(await focused(), 'Volume 4 / title')
    await page.keys('Shift+Tab')
    assert.equal(await focused(), 'Statistics')
    await page.search('volume 2', 'Volume 2')
    // The first row of a new list.
    const stop = await page.evaluate(`document.querySelector('[role=grid] [tabindex="0"]').textContent`)
    assert.equal(stop, 'Volume 2')
  })

  it('scrolls with PageDown after the log-in, and after a reload', async () => {
    for (let times = 0; times < 2; times++) {
      await page.keys('PageDown')
      await page.waitUntil(`document.querySelector('.rows').scrollTop > 300`)
      await page.reload()
      await page.locator('.row .title').first().waitFor()
      await page.scrollTo(0)
    }
    await page.setViewportSize({ width: 1100, height: 2500 })
    await page.link('Volume 55').waitFor()
  })

  it('edits, deletes and undoes with keys alone, and never loses the focus', async () => {
    await page.keepNotices()
    await page.button('Statistics').focus()
    await page.keys('Tab', 'ArrowDown', 'ArrowDown', 'End')
    await page.keyboard.down('Enter')
    await page.locator('[name=title]:focus').waitFor()
    // It is held down, which saves nothing; nor does the key that ends a composition in Safari.
    await page.keyboard.down('Enter')
    await page.keyboard.up('Enter')
    const init = { key: 'Enter', keyCode: 229, bubbles: true, cancelable: true }
    await page.field('Title').dispatchEvent('keydown', init)
    assert.ok(await page.field('Title').isEditable())
    assert.equal(await page.field('Title').inputValue(), 'Volume 2')
    await page.escape()
    assert.equal(await focused(), 'Volume 2 / year')
    await page.keys('Home', 'ArrowRight', 'Enter')
    await page.dialog().waitFor()
    for (let times = 0; times < 9 && (await focused()) !== 'Delete'; times++) await page.keys('Tab')
    await page.keys('Enter')
    await page.button('Undo').waitFor()
    await page.showsNoDialog()
    await untilFocused('Volume 3 / title')
    await page.keys('Tab')
    assert.equal(await focused(), 'Undo')
    await page.keys('Enter')
    await page.showsTitles('Volume 0', 'Volume 1', 'Volume 2')
    assert.equal(await focused(), 'Volume 2 / title')
    // Also when the only book is deleted.
    await page.search('volume 77', 'Volume 77')
    await page.link('Volume 77').press('Enter')
    await page.button('Delete').press('Enter')
    await page.shows('No books found')
    await untilFocused('Show all books')
    await page.keys('Tab')
    assert.equal(await focused(), 'Undo')
    await page.keys('Enter')
    await page.showsTitles('Volume 77')
    assert.equal(await focused(), 'Volume 77 / title')
  })

  it('keeps a notice that is being read or that the mouse is moved to, but not one that appears under it', async () => {
    const remove = async (title = 'Volume 88') => {
      // With the keyboard, so that the mouse rests where it is, and lets the notice take the focus of nothing.
      await page.link(title).press('Enter')
      await page.button('Delete').press('Enter')
      await page.button('Undo').waitFor()
    }
    await page.search('volume 8', 'Volume 8')
    await page.stopClock()
    await remove()
    const { x, y, width, height } = (await page.locator('.notice').boundingBox()) ?? assert.fail('no notice')
    const moveToNotice = () => page.mouse.move(x + width / 2, y + height / 2)
    await page.button('Undo').focus()
    await page.clock.runFor(20_000)
    await page.keys('Enter')
    await page.link('Volume 88').waitFor()
    await remove()
    await moveToNotice()
    await page.clock.runFor(20_000)
    await page.button('Undo').click()
    await page.link('Volume 88').waitFor()
    await remove()
    // As the browser tells the page after it has drawn something under the mouse.
    await page.waitForTimeout(200)
    assert.ok(await page.evaluate(`document.querySelector('.notice:hover') !== null`))
    await page.clock.runFor(6100)
    await page.button('Undo').waitFor({ state: 'hidden' })
    // Nor one that a dialog takes away from the mouse.
    await remove('Volume 87')
    await moveToNotice()
    await page.button('Menu').press('Enter')
    await page.button('Import…').press('Enter')
    await page.field('File').waitFor()
    await page.mouse.move(0, 0)
    await page.clock.runFor(20_000)
    await page.button('Undo').waitFor({ state: 'hidden' })
  })

  it('has menus on a phone, which a dialog closes, keyboards with a minus for years, and only the panel of a book', async () => {
    await page.setViewportSize({ width: 390, height: 740 })
    await page.button('Years').click()
    // Keyboards with digits only have no minus.
    for (const label of ['From year', 'To year'])
      assert.equal(await page.getByLabel(label).getAttribute('inputmode'), null)
    await page.assertAccessible()
    await page.getByLabel('From year').fill('abc')
    await page.getByLabel('To year').fill('1950')
    await page.keys('Escape')
    await page.button('Years: until 1950, clear this filter').getByText('until 1950').click()
    await page.button('Menu').click()
    await page.assertAccessible('phone-menu')
    await page.button('Import…').click()
    await page.field('File').waitFor()
    assert.ok(!(await page.getByText('Log out').isVisible()))
    await page.escape()
    assert.equal(await focused(), 'Menu')
    await page.button('Menu').click()
    await page.locator('#menu:popover-open').waitFor()
    await page.setViewportSize({ width: 1100, height: 800 })
    await page.waitUntil(`document.querySelector(':popover-open') === null`)
    await page.link('Volume 2').press('Enter')
    await page.fillIn({ Year: '1999' })
    await page.setViewportSize({ width: 360, height: 640 })
    // A trial fails where something covers the link.
    await page.link('Link to this book').click({ trial: true })
    await page.getByLabel('Search').waitFor({ state: 'hidden' })
    await page.assertAccessible('narrowed')
    await page.field('Year').fill('1902')
    await page.escape()
    assert.equal(await focused(), 'Volume 2 / title')
  })

  it('leaves room beside many notices in a small window, and shows the last of them', async () => {
    await page.keepNotices()
    await page.setViewportSize({ width: 320, height: 256 })
    await page.route(/\/book\/\d+$/, (route) =>
      route.request().method() === 'DELETE' ? route.abort() : route.fallback(),
    )
    for (const number of [1, 2, 3, 4]) {
      await page.link(`Volume ${number}`).press('Enter')
      await page.dialog().getByRole('button', { name: 'Delete' }).press('Enter')
      await page
        .locator('.notice')
        .nth(number - 1)
        .waitFor()
    }
    await page.isInSight('.notice:last-child')
    const { height = 256 } = (await page.locator('#notices').boundingBox()) ?? {}
    assert.ok(height < 200, `${height} pixels`)
  })

  it('shows notices where they can be used beside a selection and a dialog, and above one', async () => {
    await page.keepNotices()
    for (const width of [360, 1100]) {
      await page.setViewportSize({ width, height: 740 })
      await page.deleteBook('Volume 1')
      await page.box('Volume 2').click()
      // A trial fails where something covers the button.
      for (const name of ['Undo', 'Clear']) await page.button(name).click({ trial: true })
      await page.button('Clear').click()
      await page.button('Add book').press('Enter')
      // A narrow window shows only the dialog.
      const undo = (width > 640 ? page : page.dialog()).getByRole('button', { name: 'Undo' })
      await undo.waitFor()
      for (const name of ['Save', 'Save and add another', 'Cancel'])
        await page.dialog().getByRole('button', { name, exact: true }).click({ trial: true })
      await page.assertAccessible()
      await undo.click()
      await page.field('Title').waitFor()
      assert.notEqual(await focused(), 'nothing')
      await page.keys('Escape')
      await page.link('Volume 1').waitFor()
    }
  })
  it('shows what to do with a selection beside the panel of a book', async () => {
    await page.selectAll()
    await page.button('Clear').waitFor()
    await page.scrollTo(1e9)
    await page.link(`Volume ${BOOKS - 1}`).waitFor()
    // It does not cover the last book.
    await page.locator('.row').last().click({ trial: true })
    await page.scrollTo(0)
    await page.openBook('Volume 1')
    for (const width of [641, 768, 1040]) {
      await page.setViewportSize({ width, height: 740 })
      await page.assertFits()
      for (const name of ['Edit…', 'Export CSV', 'Delete', 'Clear'])
        await page.locator('.selection').getByRole('button', { name }).click({ trial: true })
    }
  })
})
