import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { assertAccessible, button, field, link, page, usePage, waitForTitles } from './page.ts'

describe('what is typed on the web page', { skip: browserMissing }, () => {
  const service = useService()
  usePage(
    () => service.url,
    () => waitForTitles(page, ['Sula']),
  )
  let year = 1973
  let sula: string

  before(async () => {
    sula = `${service.url}/book/${await service.createBook({ title: 'Sula', author: 'Toni Morrison', year: 1973 })}`
  })

  const question = () => page.getByRole('alert').getByText('Discard your changes?')
  const headers = () => ({ authorization: service.token })

  async function type(title: string): Promise<void> {
    await button('Add book').click()
    await field('Title').waitFor()
    await page.keyboard.type(title)
  }

  it('is not discarded by Escape, however often it is pressed', async () => {
    await type('Half a title')
    await page.keyboard.press('Escape')
    await question().waitFor()
    await assertAccessible(page, 'discard')
    // Browsers let a dialog refuse Escape only once.
    for (let times = 2; times < 8; times++) {
      await page.keyboard.press('Escape')
      await page.waitForTimeout(50)
    }
    assert.equal(await field('Title').inputValue(), 'Half a title')
    await button('Keep editing').click()
    await question().waitFor({ state: 'hidden' })
    await page.keyboard.type('!')
    assert.equal(await field('Title').inputValue(), 'Half a title!')
  })

  it('is discarded only by the button that says so, which is not the one that has the focus', async () => {
    await type('Half a title')
    await button('Cancel').click()
    await page.keyboard.press('Enter')
    await question().waitFor({ state: 'hidden' })
    assert.equal(await field('Title').inputValue(), 'Half a title')
    await page.keyboard.press('Escape')
    await button('Discard').click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await waitForTitles(page, ['Sula'])
  })

  it('is not asked about if there is nothing', async () => {
    await link('Sula').click()
    await field('Title').press('End')
    await page.keyboard.type('x')
    await page.keyboard.press('Backspace')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
  })

  it('is not lost by a reload without a question of the browser', async () => {
    await type('Half a title')
    const asked = page.waitForEvent('dialog')
    void page.reload().catch(() => {})
    const dialog = await asked
    assert.equal(dialog.type(), 'beforeunload')
    await dialog.dismiss()
    assert.equal(await field('Title').inputValue(), 'Half a title')
  })

  for (const [where, press] of [
    ['a field', () => field('Author').press('Enter')],
    ['the button that saves', () => button('Save').press('Enter')],
  ] as const)
    it(`does not replace the version of somebody else by a second Enter on ${where}`, async () => {
      const before = await page.locator('.row .year').textContent()
      await link('Sula').click()
      await field('Author').fill('T. Morrison')
      await fetch(sula, { method: 'PUT', headers: headers(), body: `{"year":${++year}}` })
      await press()
      await page.getByText('Someone else has changed this book').waitFor()
      await assertAccessible(page)
      for (const key of ['Enter', 'Enter', 'Space']) await page.keyboard.press(key)
      await field('Author').press('Enter')
      await page.waitForTimeout(300)
      await button('Overwrite with mine').waitFor()
      const { data } = (await (await fetch(sula, { headers: headers() })).json()) as {
        data: { author: string }
      }
      assert.equal(data.author, 'Toni Morrison')
      await button('Use saved version').click()
      assert.notEqual(await page.locator('.row .year').textContent(), before)
      await page.keyboard.press('Escape')
      await page.getByRole('dialog').waitFor({ state: 'hidden' })
    })
})
