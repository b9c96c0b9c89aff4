import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserMissing, useBrowser } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { assertAccessible, KEPT, makeLonger, openCatalogue, waitUntil } from './page.ts'

const BOOKS = 20_000

describe('the web page with 20,000 books', { skip: browserMissing }, () => {
  const service = useService((service) =>
    service.importBooks(
      Array.from({ length: BOOKS }, (_, i) => ({ title: `Volume ${i}`, author: 'A', year: 2000 })),
    ),
  )
  const browser = useBrowser()

  for (const [width, height] of [
    [320, 256],
    [360, 740],
    [640, 360],
    [740, 360],
    [1100, 800],
  ] as const)
    it(`says where the list is while it is scrolled, and cuts no order, in a window of ${width} × ${height}`, async () => {
      const page = await openCatalogue(browser(), service.url, { viewport: { width, height } })
      await page.getByText('20,000 books', { exact: true }).waitFor()
      assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'))
      const [natural, actual] = (await page.evaluate(`{
        const select = document.querySelector('.sort select')
        const clone = select.cloneNode(true)
        clone.style.width = 'max-content'
        clone.style.position = 'absolute'
        select.after(clone)
        const widths = [clone.offsetWidth, select.offsetWidth]
        clone.remove()
        widths
      }`)) as [number, number]
      assert.ok(natural <= actual, `${actual} of ${natural} pixels`)
      await page.clock.install()
      await makeLonger(page, 1500)
      assert.equal(await page.locator('.sight').count(), 0)
      await page.mouse.move(width / 2, height - 60)
      await page.mouse.wheel(0, 2000)
      const sight = page.getByText(/^\d+–\d+ of 20,000$/)
      await sight.waitFor()
      const [, first = '', last = ''] = /^(\d+)–(\d+)/.exec((await sight.textContent()) ?? '') ?? []
      const seen = (await page.evaluate(`[...document.querySelectorAll('.row')].filter((row) => {
        const { top, bottom } = row.getBoundingClientRect()
        return bottom > 60 && top < innerHeight - 60
      }).map((row) => Number(row.ariaRowIndex) - 1)`)) as number[]
      assert.ok(seen.includes(Number(first) + 1), `${first} of ${seen}`)
      assert.ok(Number(last) >= Math.max(...seen), `${last} of ${seen}`)
      await assertAccessible(page, `scrolled-${width}`)
      await page.clock.fastForward(KEPT)
      await sight.waitFor({ state: 'hidden' })
      await page.context().close()
    })

  for (const [width, height] of [
    [1100, 800],
    [640, 360],
  ] as const)
    it(`has a scrollbar that leads to any book, in a window of ${width} × ${height}`, async () => {
      const page = await openCatalogue(browser(), service.url, { viewport: { width, height } })
      await page.getByText('20,000 books', { exact: true }).waitFor()
      assert.equal(await page.getByRole('grid').getAttribute('aria-rowcount'), `${BOOKS + 1}`)
      // Where there is little space, the page scrolls, otherwise the list.
      const drag = (share: number) =>
        page.evaluate(`{
          const [list, page] = [document.querySelector('.rows'), document.scrollingElement]
          const bar = list.scrollHeight > list.clientHeight ? list : page
          bar.scrollTop = ${share} * (bar.scrollHeight - bar.clientHeight)
        }`)
      const requests: string[] = []
      page.on('request', (request) => requests.push(request.url()))
      for (const [share, volume] of [
        [0.5, 10_000],
        [1, 19_999],
        [0.25, 5000],
        [0, 0],
      ] as const) {
        await drag(share)
        // The rows near the place where the bar was dropped: heads and margins are some of the height.
        await waitUntil(
          page,
          `[...document.querySelectorAll('.row .title')].some((title) =>
            Math.abs(/^Volume (\\d+)$/.exec(title.textContent.trim())?.[1] - ${volume}) < 50)`,
        )
        assert.ok((await page.locator('.row').count()) < 80)
      }
      assert.ok(requests.length < 40, `${requests.length} requests`)
      await page.context().close()
    })
})
