import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { button, link, page, stopClock, usePage, waitForTitles } from './page.ts'

describe('a notice on the web page', { skip: browserMissing }, () => {
  const service = useService(async (service) => {
    for (const title of ['First', 'Second']) await service.createBook({ title, author: 'A', year: 1 })
  })
  usePage(
    () => service.url,
    () => waitForTitles(page, ['First', 'Second']),
  )

  const undo = () => button('Undo')

  /** With the keyboard, so that the mouse rests where it is, and lets the notice take the focus of nothing. */
  async function deleteFirst(): Promise<void> {
    await link('First').press('Enter')
    await button('Delete').press('Enter')
    await undo().waitFor()
  }

  it('stays while the mouse is moved to it, but ends if it appears under one that rests', async () => {
    await stopClock(page)
    await deleteFirst()
    const { x, y, width, height } = (await page.locator('.notice').boundingBox()) ?? assert.fail('no notice')
    await undo().click()
    await page.mouse.move(x + 5, y + height / 2)
    await deleteFirst()
    await page.mouse.move(x + width / 2, y + height / 2)
    await page.clock.runFor(20_000)
    await undo().click()
    await waitForTitles(page, ['First', 'Second'])
    await page.mouse.move(10, 10)
    await page.mouse.move(x + width / 2, y + height / 2)
    await deleteFirst()
    // As the browser tells the page after it has drawn something under the mouse.
    await page.waitForTimeout(200)
    assert.equal(await page.evaluate(`document.querySelector('.notice:hover') !== null`), true)
    await page.clock.runFor(6100)
    await undo().waitFor({ state: 'hidden' })
    await waitForTitles(page, ['Second'])
  })
})
