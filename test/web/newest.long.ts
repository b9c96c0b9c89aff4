import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import {
  assertAccessible,
  button,
  field,
  keepNotices,
  page,
  usePage,
  waitForTitles,
  waitUntil,
} from './page.ts'

/** More than the page reads to find a book. */
const BOOKS = 2500

describe('a book that was added on the web page', { skip: browserMissing }, () => {
  const service = useService((service) =>
    service.importBooks(
      Array.from({ length: BOOKS }, (_, i) => ({ title: `Volume ${i}`, author: 'Series', year: 1000 + i })),
    ),
  )
  usePage(
    () => service.url,
    () => waitForTitles(page, ['Volume 0']),
  )

  const sortBy = (label: string) => page.getByLabel('Sort by').selectOption(label)
  const marked = () => page.locator('.row.added .title')

  async function add(title: string, year: number): Promise<void> {
    await button('Add book').click()
    await field('Title').fill(title)
    await field('Year').fill(String(year))
    await page.keyboard.press('Enter')
  }

  it('is the first in the order by default, except in a search, which has the best match first', async () => {
    await page.goto(service.url)
    await waitForTitles(page, [`Volume ${BOOKS - 1}`])
    await add('Newest', 1)
    await waitForTitles(page, ['Newest'])
    await marked().getByText('Newest').waitFor()
    await page.reload()
    await waitForTitles(page, ['Newest'])
    assert.equal(await page.getByLabel('Sort by').inputValue(), '-id')
    // Chosen again, the order by default is not kept for a search.
    await sortBy('Title A–Z')
    await sortBy('Newest added')
    await waitForTitles(page, ['Newest'])
    await page.getByLabel('Search').fill('volume 7')
    await waitForTitles(page, ['Volume 7'])
    assert.equal(await page.getByLabel('Sort by').inputValue(), '')
    assert.match(page.url(), /\/\?q=volume\+7$/)
    await sortBy('Newest added')
    await waitForTitles(page, ['Volume 799'])
    assert.match(page.url(), /&sort=-id$/)
  })

  for (const viewport of [
    { width: 1100, height: 800 },
    { width: 390, height: 740 },
  ])
    it(`is scrolled to and marked in its place, in a window ${viewport.width} pixels wide`, async () => {
      await page.setViewportSize(viewport)
      await sortBy('Earliest year')
      await page.waitForURL(/sort=year/)
      await add(`Between ${viewport.width}`, 2500)
      await marked().getByText(`Between ${viewport.width}`).waitFor()
      await waitUntil(
        page,
        `{
        const { top, bottom } = document.querySelector('.row.added').getBoundingClientRect()
        top > 0 && bottom < innerHeight
      }`,
      )
      await assertAccessible(page, `added-${viewport.width}`)
    })

  it('is in sight also at the end of a short list, as is the last book by the keyboard', async () => {
    await page.setViewportSize({ width: 1280, height: 720 })
    const isInSight = (selector: string) =>
      waitUntil(
        page,
        `{
        const { top, bottom } = document.querySelector('${selector}').getBoundingClientRect()
        top > 0 && bottom < innerHeight
      }`,
      )
    await page.getByLabel('From year').fill(String(1000 + BOOKS - 50))
    await page.getByText('50 books', { exact: true }).waitFor()
    await add('At the end', 9000)
    await marked().getByText('At the end').waitFor()
    await isInSight('.row.added')
    await page.locator('.rows').evaluate((rows) => rows.scrollTo(0, 0))
    await page.locator('.row .title a').first().focus()
    await page.keyboard.press('Control+End')
    await isInSight('.row :focus')
    assert.equal(await page.evaluate(`document.activeElement.closest('.row').ariaRowIndex`), '52')
  })

  it('that is too far down to scroll to is told, and shown with the newest first', async () => {
    await keepNotices(page)
    await add('Far away', 1)
    await page.getByText('It is further down in this list').waitFor()
    await assertAccessible(page)
    await button('Show newest first').click()
    await waitForTitles(page, ['Far away'])
    await marked().getByText('Far away').waitFor()
  })

  it('is not said to be further down where it is not one of those that are searched for', async () => {
    await page.getByLabel('Search').fill('volume')
    await page.getByText('2,500 books').waitFor()
    await add('Something else', 1)
    await page.getByText('does not match your search or filters').waitFor()
    assert.equal(await page.getByText('further down in this list').count(), 0)
  })
})
