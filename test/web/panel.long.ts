import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import {
  assertAccessible,
  button,
  field,
  holdResponse,
  link,
  page,
  usePage,
  waitForTitles,
  waitUntil,
} from './page.ts'

const BOOKS = 150

describe('the panel of a book, beside the list', { skip: browserMissing }, () => {
  const service = useService((service) =>
    service.importBooks(
      Array.from({ length: BOOKS }, (_, i) => ({ title: `Volume ${i}`, author: 'A Series', year: 2000 })),
    ),
  )
  usePage(
    () => service.url,
    () => waitForTitles(page, ['Volume 0']),
  )

  const question = () => page.getByText('Discard your changes?')
  const hash = (expected: string) => waitUntil(page, `location.hash === '${expected}'`)
  const shows = async (title: string) => {
    for (let times = 0; times < 200 && (await field('Title').inputValue()) !== title; times++)
      await page.waitForTimeout(50)
    assert.equal(await field('Title').inputValue(), title)
  }
  const closed = () => page.getByRole('dialog').waitFor({ state: 'hidden' })

  it('is closed by a step back, which leaves the list as it is', async () => {
    await page.getByLabel('Search').fill('volume 1')
    await waitForTitles(page, ['Volume 1', 'Volume 10'])
    await page.locator('.row .select').nth(1).click()
    await link('Volume 1').click()
    await hash('#book=2')
    await page.goBack()
    await closed()
    assert.equal(new URL(page.url()).search, '?q=volume+1&sort=id')
    await page.getByText('1 selected').waitFor()
    await waitForTitles(page, ['Volume 1', 'Volume 10'])
    await page.goForward()
    await shows('Volume 1')
    // A click beside its fields.
    await page.getByRole('heading', { name: 'Edit book' }).click()
    await page.keyboard.press('Escape')
    await closed()
    await hash('')
  })

  it('can delete its book before the list has arrived', async () => {
    const held = await holdResponse(page, 'GET', /sort=author/)
    await page.goto(`${service.url}/?sort=duplicates#book=1`)
    await shows('Volume 0')
    await button('Delete').click()
    await button('Undo').click()
    await held.answered
    await held.release()
    await page.getByText('No duplicates found').waitFor()
  })

  it('asks before a step back discards what is typed', async () => {
    await button('Add book').click()
    await hash('#new')
    await field('Title').fill('Half a title')
    await page.goBack()
    await question().waitFor()
    await hash('#new')
    await button('Keep editing').click()
    await shows('Half a title')
    await page.goBack()
    await button('Discard').click()
    await closed()
    await hash('')
  })

  it('shows the next book that is clicked, and asks before it discards what is typed', async () => {
    await link('Volume 3').click()
    await shows('Volume 3')
    await link('Volume 5').click()
    await shows('Volume 5')
    await hash('#book=6')
    await assertAccessible(page, 'panel')
    await field('Author').fill('Another')
    await link('Volume 7').click()
    await question().waitFor()
    await button('Keep editing').click()
    await shows('Volume 5')
    assert.equal(await field('Author').inputValue(), 'Another')
    await link('Volume 7').click()
    await button('Discard').click()
    await shows('Volume 7')
    // One step back closes it, however many books were shown.
    await page.goBack()
    await closed()
  })

  it('leads to the book before and after, which the list shows', async () => {
    await link('Volume 1').click()
    await shows('Volume 1')
    await page.keyboard.press('Alt+ArrowUp')
    await shows('Volume 0')
    await button('Previous book (Alt+↑)').click()
    for (let next = 1; next < 40; next++) {
      await button('Next book (Alt+↓)').click()
      await shows(`Volume ${next}`)
    }
    const current = page.locator('[aria-current=true]')
    assert.match((await current.textContent()) ?? '', /Volume 39/)
    const isInSight = await current.evaluate((row) => {
      const { top, bottom } = row.getBoundingClientRect()
      return top > 0 && bottom < row.ownerDocument.documentElement.clientHeight
    })
    assert.ok(isInSight)
  })

  it('stays while one searches', async () => {
    await link('Volume 4').click()
    await field('Author').fill('Another')
    await page.getByLabel('Search').fill('volume 9')
    await waitForTitles(page, ['Volume 9', 'Volume 90'])
    assert.equal(await field('Author').inputValue(), 'Another')
    await hash('#book=5')
    await button('Save').click()
    await page.getByText('Saved “Volume 4”.').waitFor()
    await closed()
    await hash('')
    assert.equal(new URL(page.url()).search, '?q=volume+9&sort=id')
  })

  it('can be opened again at once', async () => {
    // Its part of the page is there from then on.
    await button('Add book').click()
    await button('Cancel').click()
    await hash('')
    for (let times = 0; times < 5; times++) {
      await page.evaluate(`{
        const find = (text) => [...document.querySelectorAll('button')].find((each) => each.textContent.trim() === text)
        find('Add book').click()
        find('Cancel').click()
        find('Add book').click()
      }`)
      await hash('#new')
      await shows('')
      await page.goBack()
      await closed()
    }
  })

  it('is open where its address leads', async () => {
    await page.goto(`${service.url}/?q=volume+8#new`)
    await page.getByRole('dialog', { name: 'Add book' }).waitFor()
    await page.goto(`${service.url}/?q=volume+8#book=9`)
    await shows('Volume 8')
    await button('Cancel').click()
    await closed()
    await hash('')
  })
})
