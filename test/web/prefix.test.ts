import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { browserMissing, useBrowser } from '../support/browser.ts'
import { openPrefixProxy } from '../support/prefix-proxy.ts'
import { ACCOUNT } from '../support/service.ts'
import { useService } from '../support/use-service.ts'
import { openCatalogue, openPage, waitForTitles } from './page.ts'

/** More than the page reads at once. */
const BOOKS = 250

describe('behind a proxy that has the service at /library/', { skip: browserMissing }, () => {
  const title = (i: number) => `Volume ${i}`
  const service = useService((started) =>
    started.importBooks(Array.from({ length: BOOKS }, (_, i) => ({ title: title(i), author: 'A', year: i }))),
  )
  const browser = useBrowser()
  let proxy: Awaited<ReturnType<typeof openPrefixProxy>>
  before(async () => {
    proxy = await openPrefixProxy('/library/', service.url)
  })
  after(() => proxy?.close())

  it('the page lists, adds and links books, and leads to the API', async () => {
    const page = await openCatalogue(browser(), proxy.url)
    await waitForTitles(page, [title(0), title(1)])
    // The pages of the list, by their links.
    const last = page.getByText(title(BOOKS - 1), { exact: true })
    while (!(await last.isVisible()))
      await page.locator('.rows').evaluate((rows) => rows.scrollTo(0, rows.scrollHeight))
    await page.getByRole('button', { name: 'Add book' }).click()
    await page.getByRole('dialog').getByLabel('Title').fill('Added under a path')
    await page.getByRole('dialog').getByLabel('Author').fill('B')
    await page.getByRole('dialog').getByLabel('Year').fill('2000')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.getByRole('searchbox').fill('under')
    await waitForTitles(page, ['Added under a path'])
    await page.getByRole('link', { name: 'Added under a path' }).click()
    await page.getByRole('link', { name: 'Link to this book' }).waitFor()
    const link = await page.evaluate(`document.querySelector('#editor a').href`)
    assert.equal(link, `${proxy.url}#book=${BOOKS + 1}`)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Add book' }).click()
    await page.getByRole('dialog').getByLabel('Title').fill('added under a path')
    await page.getByRole('dialog').getByLabel('Author').focus()
    const twin = page.getByRole('link', { name: 'Added under a path, B, 2000' })
    assert.equal(await twin.evaluate((element) => element.getAttribute('href')), `./#book=${BOOKS + 1}`)
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Discard' }).click()
    await page.getByRole('button', { name: 'Menu' }).click()
    await page.getByRole('link', { name: 'API' }).click()
    await page.waitForURL(`${proxy.url}docs`)
    await page.context().close()
  })

  it('the page is there also at the path without its slash', async () => {
    const page = await openCatalogue(browser(), `${proxy.url.slice(0, -1)}?q=7#book=7`)
    await waitForTitles(page, [title(7)])
    await page.getByRole('dialog').getByLabel('Title').waitFor()
    assert.equal(page.url(), `${proxy.url}?q=7#book=7`)
    await page.context().close()
  })

  for (const path of ['docs', 'docs/'])
    it(`/${path} calls the service, and leads back to the page`, async () => {
      const page = await openPage(browser(), proxy.url + path)
      await tryOut(page, 'logIn', JSON.stringify(ACCOUNT))
      assert.match(await tryOut(page, 'listBooks'), /Books retrieved successfully/)
      await page.getByRole('link', { name: 'Book Catalogue' }).click()
      await page.waitForURL(proxy.url)
      await page.context().close()
    })

  it('links lead from page to page, and the document to the service', async () => {
    const headers = { authorization: service.token }
    let books = 0
    for (let next: string | undefined = `${proxy.url}books?author=A&limit=100`; next !== undefined; ) {
      const response: Response = await fetch(next, { headers })
      books += ((await response.json()) as { data: unknown[] }).data.length
      const [, link] = /^<([^>]*)>/.exec(response.headers.get('link') ?? '') ?? []
      next = link && new URL(link, response.url).href
    }
    assert.equal(books, BOOKS)
    const { servers } = (await (await fetch(`${proxy.url}openapi.json`)).json()) as {
      servers: { url: string }[]
    }
    assert.deepEqual(
      servers.map(({ url }) => new URL(url, `${proxy.url}openapi.json`).href),
      [proxy.url],
    )
  })
})

/** Executes an operation of the API page, and answers what it shows of the response. */
async function tryOut(page: Page, id: string, body?: string): Promise<string> {
  const block = page.locator(`[id$="-${id}"]`)
  await block.locator('.opblock-summary-control').click()
  if (body !== undefined) await block.locator('textarea').fill(body)
  await block.locator('button.execute').click()
  const response = block.locator('.live-responses-table pre.microlight').first()
  return (await response.textContent()) ?? ''
}
