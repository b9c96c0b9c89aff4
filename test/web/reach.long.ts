import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { browserMissing, useBrowser } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import {
  assertAccessible,
  KEPT,
  keepNotices,
  openCatalogue,
  screenshot,
  waitForTitles,
  waitUntil,
} from './page.ts'

const BOOKS = 450

describe('the web page in small windows and with the keyboard alone', { skip: browserMissing }, () => {
  const service = useService((service) =>
    service.importBooks(
      Array.from({ length: BOOKS }, (_, i) => ({
        title: `Volume ${i}`,
        author: `Author ${i % 3}`,
        year: 1900 + (i % 100),
      })),
    ),
  )
  const browser = useBrowser()

  async function open(options: BrowserContextOptions = {}, query = ''): Promise<Page> {
    const page = await openCatalogue(browser(), `${service.url}/${query}`, options)
    await page.locator('.row:not(.loading)').first().waitFor()
    return page
  }

  /** The titles of the rows that are seen from top to bottom, with nothing over them. */
  const wholeRows = (page: Page) =>
    page.evaluate(`[...document.querySelectorAll('.row')].filter((row) => {
      const { left, top, bottom } = row.getBoundingClientRect()
      return [top + 2, bottom - 2].every((y) => row.contains(document.elementFromPoint(left + 20, y)))
    }).map((row) => row.querySelector('.title')?.textContent.trim() ?? '…')`) as Promise<string[]>

  /** What has the focus: a cell of the list by its title and column, or the text of another element. */
  const focused = (page: Page) =>
    page.evaluate(`{
      const element = document.activeElement
      const row = element.closest('.row')
      row ? row.querySelector('.title').textContent.trim() + ' / ' + element.closest('[role=gridcell]').className
        : element === document.body ? 'nothing' : element.textContent.trim() || element.name
    }`) as Promise<string>

  /** Until nothing more is drawn that may take the focus away. */
  async function untilFocused(page: Page, expected: string): Promise<void> {
    await page.waitForTimeout(100)
    for (let i = 0; i < 100 && (await focused(page)) !== expected; i++) await page.waitForTimeout(100)
    assert.equal(await focused(page), expected)
  }

  const press = async (page: Page, ...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key)
  }

  for (const [what, width, height, least, isOpen] of [
    ['the smallest window of WCAG 1.4.10', 320, 256, 3, false],
    ['a laptop at 200 %', 640, 360, 4, false],
    ['a phone on its side, with the charts open', 740, 360, 5, true],
    ['a phone', 360, 740, 9, true],
    ['a laptop, with the charts open', 1366, 625, 10, true],
  ] as const)
    it(`shows ${least} rows in the window of ${what}`, async () => {
      const page = await open({ viewport: { width, height }, isMobile: width < 800, hasTouch: width < 800 })
      await screenshot(page, `small-${width}x${height}`)
      if (isOpen) {
        await page.getByRole('button', { name: 'Statistics' }).click()
        await page.locator('.authors').waitFor()
        await screenshot(page, `small-${width}x${height}-charts`)
      }
      const session = await page.context().newCDPSession(page)
      // As a wheel or a finger scrolls: whatever scrolls there.
      for (let i = 0; i < 40 && (await wholeRows(page)).length < least; i++) {
        const distance = { x: width / 2, y: height - 40, yDistance: -120, speed: 3000 }
        await session.send('Input.synthesizeScrollGesture', { ...distance, gestureSourceType: 'mouse' })
      }
      await screenshot(page, `small-${width}x${height}-scrolled`)
      assert.ok((await wholeRows(page)).length >= least, String(await wholeRows(page)))
      assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'))
      await assertAccessible(page)
      await page.getByRole('link', { name: 'Volume 3', exact: true }).click()
      await page.getByRole('dialog').getByLabel('Year').fill('nonsense')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText('“nonsense” is not a year').waitFor()
      assert.ok(
        await page.evaluate(`{
          const dialog = document.querySelector('#editor')
          dialog.scrollWidth <= dialog.clientWidth
        }`),
      )
      await assertAccessible(page, `small-${width}x${height}-dialog`)
      await page.context().close()
    })

  it('leads by Tab to the first row of a new list', async () => {
    const page = await open()
    await page.getByRole('link', { name: 'Volume 5', exact: true }).focus()
    await page.getByLabel('Search').fill('volume 1')
    await waitForTitles(page, ['Volume 1'])
    const stop = await page.evaluate(`document.querySelector('[role=grid] [tabindex="0"]').textContent`)
    assert.equal(stop, 'Volume 1')
    await page.context().close()
  })

  it('has its count beside the order, whatever the width', async () => {
    const page = await open()
    const middle = async (selector: string) => {
      const { y, height } = (await page.locator(selector).boundingBox()) ?? assert.fail(selector)
      return y + height / 2
    }
    for (const width of [640, 700, 790, 1100]) {
      await page.setViewportSize({ width, height: 800 })
      const distance = (await middle('.filters .count')) - (await middle('.filters .sort'))
      assert.ok(Math.abs(distance) < 3, `${distance} pixels at ${width}`)
    }
    await page.context().close()
  })

  it('has on a phone a minus for years before Christ, a menu of years at its button, and notices beside the selection', async () => {
    const page = await open({ viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true })
    const box = async (selector: string) =>
      (await page.locator(selector).boundingBox()) ?? assert.fail(selector)
    const years = page.getByRole('button', { name: 'Years', exact: true })
    await years.click()
    const [below, menu] = [(await years.boundingBox()) ?? assert.fail('no button'), await box('#years')]
    assert.ok(menu.y >= below.y && menu.y < below.y + below.height + 40, JSON.stringify([below, menu]))
    // Keyboards with digits only have no minus.
    for (const label of ['From year', 'To year'])
      assert.equal(await page.getByLabel(label).getAttribute('inputmode'), null)
    await page.keyboard.press('Escape')
    await keepNotices(page)
    await page.getByRole('link', { name: 'Volume 1', exact: true }).click()
    assert.equal(await page.getByRole('dialog').getByLabel('Year').getAttribute('inputmode'), null)
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.locator('.row .select').first().click()
    await page.getByText('1 selected', { exact: true }).waitFor()
    const [notice, selection] = [await box('.notice'), await box('.selection')]
    const isBeside = notice.y + notice.height <= selection.y || selection.y + selection.height <= notice.y
    assert.ok(isBeside, JSON.stringify([notice, selection]))
    await page.context().close()
  })

  for (const [where, viewport] of [
    ['where the list scrolls', { width: 1100, height: 800 }],
    ['where the page scrolls', { width: 640, height: 360 }],
  ] as const) {
    it(`goes through the list with the keys of a grid, ${where}`, async () => {
      const page = await open({ viewport })
      await page.getByLabel('Sort by').focus()
      // "Statistics" is between them.
      await press(page, 'Tab', 'Tab')
      assert.equal(await focused(page), 'Volume 0 / title')
      await press(page, 'ArrowDown', 'ArrowDown', 'ArrowRight')
      assert.equal(await focused(page), 'Volume 2 / author')
      await press(page, 'End')
      assert.equal(await focused(page), 'Volume 2 / year')
      await press(page, 'Home')
      assert.equal(await focused(page), 'Volume 2 / select')
      const seen: string[] = []
      for (let times = 0; times < 4; times++) {
        const before = await focused(page)
        await press(page, 'PageDown')
        let title = ''
        const isShown = async () => {
          const now = await focused(page)
          title = now.split(' / ')[0] ?? ''
          return now !== before && (await wholeRows(page)).includes(title)
        }
        for (let i = 0; i < 100 && !(await isShown()); i++) await page.waitForTimeout(100)
        assert.ok(await isShown(), `${title}: ${await wholeRows(page)}`)
        seen.push(title)
      }
      assert.equal(new Set(seen).size, 4)
      // Far beyond what is loaded.
      await press(page, 'Control+End')
      await page
        .locator('.row', { hasText: `Volume ${BOOKS - 1}` })
        .locator('.year:focus')
        .waitFor()
      await press(page, 'PageUp', 'ArrowUp')
      assert.match(await focused(page), /^Volume 4[34]\d \/ year$/)
      await press(page, 'Control+Home')
      assert.equal(await focused(page), 'Volume 0 / select')
      await press(page, 'ArrowRight', 'ArrowUp')
      // A narrow window has “Sort by” instead of a head.
      if (viewport.width > 640) {
        assert.equal(await focused(page), 'Title')
        await press(page, 'ArrowRight', 'ArrowRight', 'Enter')
        await page.locator('[aria-sort=ascending]').waitFor()
        assert.equal(await focused(page), 'Year')
      } else assert.equal(await focused(page), 'Volume 0 / title')
      await assertAccessible(page)
      await page.context().close()
    })

    it(`keeps the focus in the list when it is scrolled away by something else, ${where}`, async () => {
      const page = await open({ viewport })
      await page.getByRole('link', { name: 'Volume 1', exact: true }).focus()
      await press(page, 'ArrowDown')
      await page.mouse.move(300, viewport.height - 50)
      // No further than the books that are loaded: whether the next ones come in time is not known.
      await page.mouse.wheel(0, viewport.width > 640 ? 3800 : 6000)
      await page.getByRole('link', { name: 'Volume 90', exact: true }).waitFor()
      assert.equal(await focused(page), 'Volume 2 / title')
      await assertAccessible(page)
      await press(page, 'ArrowDown')
      assert.equal(await focused(page), 'Volume 3 / title')
      assert.ok((await wholeRows(page)).includes('Volume 3'))
      await page.context().close()
    })
  }

  it('has one stop of the Tab key in the list, before and after it', async () => {
    const page = await open()
    await page.getByRole('button', { name: 'Statistics' }).focus()
    await press(page, 'Tab', 'ArrowDown', 'Tab')
    assert.ok(!(await focused(page)).startsWith('Volume'), await focused(page))
    await press(page, 'Shift+Tab')
    assert.equal(await focused(page), 'Volume 1 / title')
    await press(page, 'Shift+Tab')
    assert.equal(await focused(page), 'Statistics')
    await page.context().close()
  })

  it('edits, deletes and undoes with keys alone, and never loses the focus', async () => {
    const page = await open()
    await keepNotices(page)
    await page.getByRole('button', { name: 'Statistics' }).focus()
    await press(page, 'Tab', 'ArrowDown', 'ArrowDown', 'End', 'Enter')
    await page.getByRole('dialog').waitFor()
    assert.equal(await page.getByRole('dialog').getByLabel('Title').inputValue(), 'Volume 2')
    await press(page, 'Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    assert.equal(await focused(page), 'Volume 2 / year')
    await press(page, 'Home', 'ArrowRight', 'Enter')
    await page.getByRole('dialog').waitFor()
    for (let times = 0; times < 9 && (await focused(page)) !== 'Delete'; times++) await press(page, 'Tab')
    await press(page, 'Enter')
    await page.getByRole('button', { name: 'Undo' }).waitFor()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await untilFocused(page, 'Volume 3 / title')
    await press(page, 'Tab')
    assert.equal(await focused(page), 'Undo')
    await press(page, 'Enter')
    await waitForTitles(page, ['Volume 0', 'Volume 1', 'Volume 2'])
    assert.match(await focused(page), /^Volume 2 \/ title$/)
    await page.context().close()
  })

  it('lets nobody wait for a notice that is being read', async () => {
    const page = await open()
    await page.clock.install()
    await keepNotices(page)
    await page.getByRole('link', { name: 'Volume 0', exact: true }).click()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('button', { name: 'Undo' }).focus()
    await page.clock.fastForward(2 * KEPT)
    await press(page, 'Enter')
    await waitForTitles(page, ['Volume 0'])
    await page.context().close()
  })

  it('gives the focus to something when the only book is deleted', async () => {
    const page = await open({}, '?q=volume+77')
    await keepNotices(page)
    await page.getByRole('link', { name: 'Volume 77' }).press('Enter')
    await page.getByRole('button', { name: 'Delete' }).press('Enter')
    await page.getByText('No books found').waitFor()
    await untilFocused(page, 'Show all books')
    await press(page, 'Tab')
    assert.equal(await focused(page), 'Undo')
    await press(page, 'Enter')
    await waitForTitles(page, ['Volume 77'])
    assert.equal(await focused(page), 'Volume 77 / title')
    await page.context().close()
  })

  it('leaves most of a phone to the books, and has the rest in menus', async () => {
    const page = await open({ viewport: { width: 390, height: 740 }, isMobile: true, hasTouch: true })
    const { y } = (await page.locator('.row').first().boundingBox()) ?? { y: Number.NaN }
    assert.ok(y <= 200, `${y} pixels above the first row`)
    await page.setViewportSize({ width: 360, height: 740 })
    const { y: narrower } = (await page.locator('.row').first().boundingBox()) ?? { y: Number.NaN }
    assert.ok(narrower <= 200, `${narrower} pixels above the first row of a narrower phone`)
    // No choice of an order is cut.
    const [natural, actual] = (await page.evaluate(`{
      const select = document.querySelector('.sort select')
      const clone = select.cloneNode(true)
      clone.style.width = 'max-content'
      select.after(clone)
      const widths = [clone.offsetWidth, select.offsetWidth]
      clone.remove()
      widths
    }`)) as [number, number]
    assert.ok(natural <= actual, `${actual} of ${natural} pixels`)
    await page.getByRole('button', { name: 'Years' }).tap()
    await page.getByLabel('From year').fill('1950')
    await waitForTitles(page, ['Volume 50'])
    await assertAccessible(page)
    await page.getByRole('button', { name: 'Menu' }).tap()
    await assertAccessible(page, 'phone-menu')
    await page.getByRole('button', { name: 'Import…' }).tap()
    await page.getByRole('dialog').getByLabel('File').waitFor()
    assert.ok(!(await page.getByText('Log out').isVisible()))
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    assert.equal(await focused(page), 'Menu')
    await page.getByRole('button', { name: 'Menu' }).tap()
    await page.locator('#menu:popover-open').waitFor()
    await page.setViewportSize({ width: 1100, height: 800 })
    await waitUntil(page, `document.querySelector(':popover-open') === null`)
    await page.context().close()
  })

  it('shows notices where they can be used beside a dialog, and above one', async () => {
    for (const viewport of [
      { width: 360, height: 740 },
      { width: 640, height: 360 },
      { width: 1100, height: 800 },
    ]) {
      const page = await open({ viewport })
      await keepNotices(page)
      await page.getByRole('link', { name: 'Volume 0', exact: true }).click()
      await page.getByRole('button', { name: 'Delete' }).click()
      await page.getByRole('button', { name: 'Undo' }).waitFor()
      await page.getByRole('button', { name: 'Add book' }).press('Enter')
      // A narrow window shows only the dialog.
      const undo = (viewport.width > 640 ? page : page.getByRole('dialog')).getByRole('button', {
        name: 'Undo',
      })
      await undo.waitFor()
      await screenshot(page, `notice-in-dialog-${viewport.width}`)
      for (const name of ['Save', 'Save and add another', 'Cancel']) {
        const button = page.getByRole('dialog').getByRole('button', { name, exact: true })
        await button.scrollIntoViewIfNeeded()
        const isCovered = await button.evaluate((element) => {
          const { left, right, top, bottom } = element.getBoundingClientRect()
          return !element.contains(
            element.ownerDocument.elementFromPoint((left + right) / 2, (top + bottom) / 2),
          )
        })
        assert.equal(isCovered, false, name)
      }
      await assertAccessible(page)
      await undo.click()
      await page.getByRole('dialog').getByLabel('Title').waitFor()
      assert.notEqual(await focused(page), 'nothing')
      await press(page, 'Escape')
      await waitForTitles(page, ['Volume 0'])
      await page.context().close()
    }
  })
})
