import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserMissing, useBrowser } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { openCatalogue, waitUntil } from './page.ts'

const BOOKS = 12_000

describe('far down a list of the web page', { skip: browserMissing }, () => {
  const service = useService((service) =>
    service.importBooks(
      Array.from({ length: BOOKS }, (_, i) => ({ title: `Volume ${i}`, author: `Author ${i}`, year: 2000 })),
    ),
  )
  const browser = useBrowser()

  for (const viewport of [
    { width: 1100, height: 800 },
    { width: 390, height: 740 },
  ])
    it(`back, forward and a reload keep the place, in a window ${viewport.width} pixels wide`, async () => {
      const page = await openCatalogue(browser(), service.url, { viewport })
      const row = (number: number) => page.getByRole('link', { name: `Volume ${number}`, exact: true })
      const inSight = (number: number) =>
        row(number).evaluate((element) => {
          const { top, bottom } = element.getBoundingClientRect()
          return top > 0 && bottom < element.ownerDocument.documentElement.clientHeight
        })
      const scrollTo = async (number: number) => {
        for (
          let times = 0;
          times < 200 && !((await row(number).count()) && (await inSight(number)));
          times++
        ) {
          await page.mouse.move(200, 500)
          await page.mouse.wheel(0, 400)
          await page.waitForTimeout(20)
        }
        assert.ok(await inSight(number))
      }
      const kept = async () => {
        for (let row = 0; row < 300; await page.waitForTimeout(30))
          row = (await page.evaluate('history.state?.row ?? 0')) as number
      }
      await row(0).waitFor()
      await scrollTo(340)
      // The place is remembered when the list has been still.
      await kept()
      await page.getByRole('link', { name: 'Author 340', exact: true }).click()
      await page.getByText('1 book', { exact: true }).waitFor()
      await page.goBack()
      await page.getByText('12,000 books').waitFor()
      await row(340).waitFor()
      assert.ok(await inSight(340))
      await kept()
      await row(340).click()
      await page.getByRole('dialog').getByLabel('Title').waitFor()
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'hidden' })
      // Closing a book is a step back.
      await waitUntil(page, `location.hash === ''`)
      await page.reload()
      await page.getByText('12,000 books').waitFor()
      await row(340).waitFor()
      assert.ok(await inSight(340))
      await row(340).click()
      await page.getByRole('dialog').getByLabel('Title').waitFor()
      await page.goBack()
      await page.getByRole('dialog').waitFor({ state: 'hidden' })
      assert.ok(await inSight(340))
      await page.goForward()
      await page.getByRole('dialog').getByLabel('Title').waitFor()
      if (viewport.width > 1000) {
        // Beside the book, the list can be scrolled.
        await scrollTo(380)
        await page.goBack()
        await page.getByRole('dialog').waitFor({ state: 'hidden' })
        await waitUntil(page, 'history.state.row > 350')
        // Another list is chosen before this one has been still.
        await page.evaluate(`{
          document.querySelector('.rows').scrollTop = 500 * 36
          requestAnimationFrame(() => requestAnimationFrame(() =>
            document.querySelector('[aria-rowindex="502"] .author a').click()))
        }`)
        await page.getByText('1 book', { exact: true }).waitFor()
        await page.goBack()
        await row(500).waitFor()
        assert.ok(await inSight(500))
      }
      await page.context().close()
    })

  it('is not selected as a whole if there are too many books', async () => {
    const page = await openCatalogue(browser(), service.url)
    await page.getByText('12,000 books').waitFor()
    await page.getByLabel('Select all').click()
    await page.getByText('You can select up to 10,000 books.').waitFor()
    assert.equal(await page.getByLabel('Select all').isChecked(), false)
    await page.context().close()
  })

  it('Ctrl+End leads to the last book, and back from there', async () => {
    const page = await openCatalogue(browser(), service.url)
    const last = page.getByRole('link', { name: `Volume ${BOOKS - 1}`, exact: true })
    const focused = () => page.evaluate('document.activeElement.closest("[role=row]")?.ariaRowIndex')
    // Before the page knows how many books there are, and after.
    for (let i = 0; i < 2; i++) {
      await page.getByRole('link', { name: 'Volume 0', exact: true }).focus()
      await page.keyboard.press('Control+End')
      await last.waitFor()
      assert.equal(await focused(), `${BOOKS + 1}`)
      await page.keyboard.press('Control+Home')
      await page.getByRole('link', { name: 'Volume 0', exact: true }).waitFor()
      assert.equal(await focused(), '2')
      await page.getByText('12,000 books').waitFor()
    }
    await page.context().close()
  })
})
