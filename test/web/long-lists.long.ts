import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { until } from '../support/until.ts'
import { useService } from '../support/use-service.ts'
import { type CataloguePage, openCatalogue, openPage, series, usePages } from './page.ts'
import { KEPT } from './timing.ts'

const BOOKS = 20_000

const WIDE = { width: 1100, height: 800 }

/** What scrolls: the list, or the page where there is little space. */
const BAR = `[document.querySelector('.rows'), document.scrollingElement].find((each) => each.scrollHeight > each.clientHeight)`

describe('a long list of the web page', { skip: browserMissing }, () => {
  const service = useService((service) =>
    service.importBooks(series(BOOKS).map((book, i) => ({ ...book, author: `Author ${i}` }))),
  )
  const browser = usePages()

  async function open(viewport = WIDE) {
    const page = await openCatalogue(browser(), service.url, { viewport })
    await page.showsExactly('20,000 books')
    return page
  }

  for (const viewport of [WIDE, { width: 390, height: 740 }])
    it(`keeps its place over back, forward and a reload, in a window ${viewport.width} pixels wide`, async () => {
      const page = await open(viewport)
      const row = (number: number) => page.link(`Volume ${number}`)
      const isInSight = (number: number) =>
        until(`Volume ${number} in sight`, async () => {
          if ((await row(number).count()) === 0) return false
          return row(number).evaluate((element) => {
            const { top, bottom } = element.getBoundingClientRect()
            return top > 0 && bottom < element.ownerDocument.documentElement.clientHeight
          })
        })
      const scrollTo = async (number: number) => {
        await page.evaluate(`${BAR}.scrollTop = ${number} * document.querySelector('.row').offsetHeight`)
        await isInSight(number)
        // The place is remembered when the list has been still.
        await page.waitUntil(`history.state?.row >= ${number - 40}`)
      }
      const openAndClose = async () => {
        await row(340).click()
        await page.field('Title').waitFor()
        await page.goBack()
        await page.showsNoDialog()
      }
      await scrollTo(340)
      await page.link('Author 340').click()
      await page.showsExactly('1 book')
      await page.goBack()
      await page.shows('20,000 books')
      await isInSight(340)
      await openAndClose()
      await page.waitUntil(`location.hash === ''`)
      await page.reload()
      await page.shows('20,000 books')
      await isInSight(340)
      await openAndClose()
      await isInSight(340)
      await page.goForward()
      await page.field('Title').waitFor()
      if (viewport === WIDE) {
        // Beside the book, the list can be scrolled.
        await scrollTo(380)
        await page.goBack()
        await page.showsNoDialog()
        await page.waitUntil('history.state?.row >= 350')
        // Another list is chosen before this one has been still.
        await page.evaluate(`{
          document.querySelector('.rows').scrollTop = 500 * 36
          requestAnimationFrame(() => requestAnimationFrame(() =>
            document.querySelector('[aria-rowindex="502"] .author a').click()))
        }`)
        await page.showsExactly('1 book')
        await page.goBack()
        await isInSight(500)
        // Whoever goes on before its books arrive is not led to this place.
        for (const goOn of [() => page.scrollTo(50 * 36), () => page.search('volume 50')]) {
          await scrollTo(500)
          const held = await page.hold('GET', /limit=1000/, () => page.reload())
          await goOn()
          await isInSight(50)
          await held.release()
          await isInSight(50)
        }
      }
    })

  const LOW = { width: 1100, height: 650 }

  /** Whether the list is at the book 340, and this place is remembered. */
  async function isAtPlace(page: CataloguePage): Promise<void> {
    await page.link('Volume 343').waitFor()
    await page.isInSight('[aria-rowindex="345"] a')
    await page.waitUntil('history.state?.row === 340')
  }

  it('keeps its place while the charts are open, with which the whole page scrolls in a low window', async () => {
    const page = await open(LOW)
    // Nothing else draws the list again.
    await page.makeLonger(1500)
    await page.scrollTo(340 * 36)
    await isAtPlace(page)
    await page.button('Statistics').click()
    await page.locator('.decades').waitFor()
    await page.isInSight('.decades')
    await page.link('Volume 1').waitFor()
    await page.button('Statistics').click()
    await isAtPlace(page)
  })

  it('keeps its place at another zoom, and when a tablet or a phone is turned', async () => {
    const page = await open(LOW)
    const [zoomed, upright, turned] = [
      { width: 550, height: 325 },
      { width: 390, height: 740 },
      { width: 740, height: 390 },
    ]
    const frame = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))'
    for (const viewport of [zoomed, LOW, upright, turned, LOW]) {
      await page.setViewportSize(viewport)
      await page.evaluate(frame)
      assert.equal(await page.evaluate('scrollY'), 0)
    }
    await page.scrollTo(340 * 36)
    for (const viewport of [LOW, zoomed, LOW, upright, turned, upright, LOW]) {
      await page.setViewportSize(viewport)
      await isAtPlace(page)
    }
  })

  for (const viewport of [WIDE, { width: 320, height: 256 }])
    it(`says where it is, and has a scrollbar that leads to any book, in a window ${viewport.width} pixels wide`, async () => {
      const page = await open(viewport)
      await page.assertFits()
      await page.clock.install()
      await page.makeLonger(1500)
      assert.equal(await page.locator('.sight').count(), 0)
      assert.equal(await page.getByRole('grid').getAttribute('aria-rowcount'), `${BOOKS + 1}`)
      const requests: string[] = []
      page.on('request', (request) => requests.push(request.url()))
      for (const share of [1, 0.25, 0, 0.5]) {
        await page.evaluate(`{
          const bar = ${BAR}
          bar.scrollTop = ${share} * (bar.scrollHeight - bar.clientHeight)
        }`)
        // The rows near the place where the bar was dropped: heads and margins are some of the height.
        await page.waitUntil(
          `[...document.querySelectorAll('.row .title')].some((title) =>
            Math.abs(/^Volume (\\d+)$/.exec(title.textContent.trim())?.[1] - ${share * (BOOKS - 1)}) < 50)`,
        )
        assert.ok((await page.locator('.row').count()) < 80)
        if (share === 1) await page.shows(/–20,000 of 20,000$/)
      }
      assert.ok(requests.length < 40, `${requests.length} requests`)
      const sight = page.getByText(/^(9,9|10,0)\d\d–(9,9|10,0)\d\d of 20,000$/)
      await sight.waitFor()
      await page.assertAccessible(`scrolled-${viewport.width}`)
      await page.clock.fastForward(KEPT)
      await sight.waitFor({ state: 'hidden' })
    })

  it('that is higher than browsers can show leads to its last book with the keys, and with the scrollbar', async () => {
    const page = await open()
    await page.evaluate(`document.documentElement.style.setProperty('--row', '1000px')`)
    await page.evaluate(`dispatchEvent(new Event('resize'))`)
    await page.link('Volume 0').focus()
    const last = BOOKS - 1
    const keys = ['Control+End', 'ArrowUp', 'Control+Home']
    // Past the first rows, which are not scaled.
    for (const [i, row] of [last, last - 1, ...Array(20).keys()].entries()) {
      await page.keys(keys[i] ?? 'ArrowDown')
      await page.locator('.row:focus-within', { hasText: `Volume ${row}` }).waitFor()
      await page.isInSight('.rows :focus')
    }
    await page.scrollTo(1e9)
    await page.link(`Volume ${last}`).waitFor()
    await page.isInSight(`[aria-rowindex="${BOOKS + 1}"] a`)
  })

  const isNotSelected = async (page: CataloguePage) => {
    await page.selectAll()
    await page.shows('You can select up to 10,000 books.')
    assert.equal(await page.getByLabel('Select all').isChecked(), false)
  }

  it('is not selected as a whole, and leads to no next book from one that is too far down to be found', async () => {
    const page = await openCatalogue(browser(), `${service.url}/#book=${BOOKS}`)
    await page.showsExactly('20,000 books')
    await isNotSelected(page)
    await page.choose('Next book (Alt+↓)', 'This book is not in the list, or too far down in it.')
  })

  it('has no ranges of more than 10,000 books to select, nor several of them', async () => {
    const page = await openCatalogue(browser(), service.url)
    await page.stopClock()
    const isRefused = async (selected: string) => {
      await page.shows('You can select up to 10,000 books.')
      await page.clock.runFor(60_000)
      await page.hides('You can select up to 10,000 books.')
      await page.showsExactly(selected)
    }
    await page.box('Volume 0').click()
    await page.keys('Control+End')
    await page.box(`Volume ${BOOKS - 1}`).click({ modifiers: ['Shift'] })
    await isRefused('1 selected')
    await page.scrollTo(9999 * 36)
    await page.box('Volume 9999').click({ modifiers: ['Shift'] })
    await page.showsExactly('10,000 selected')
    await page.box('Volume 10001').click()
    await isRefused('10,000 selected')
  })

  it('is gone through with Ctrl+End to the last book and back before it is counted, and not selected then', async () => {
    const page = await openPage(browser(), service.url)
    await page.hold('GET', /count=true/)
    await page.logIn()
    await page.showsTitles('Volume 0')
    await isNotSelected(page)
    const focused = (row: number) =>
      page.waitUntil(`document.activeElement.closest('[role=row]')?.ariaRowIndex === '${row + 2}'`)
    // Again when all are read.
    for (let i = 0; i < 2; i++) {
      await page.link('Volume 0').focus()
      await page.keys('Control+End')
      await focused(BOOKS - 1)
      await page.keys('Control+Home')
      await focused(0)
      await page.shows('20,000 books')
    }
  })
})
