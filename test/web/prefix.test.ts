import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { openPrefixProxy } from '../support/prefix-proxy.ts'
import { useService } from '../support/use-service.ts'
import { openCatalogue, openPage, series, usePages } from './page.ts'

/** More than the page reads at once. */
const BOOKS = 250

describe('behind a proxy that has the service at /library/', { skip: browserMissing }, () => {
  const service = useService((started) => started.importBooks(series(BOOKS, 'A')))
  const browser = usePages()
  let proxy: Awaited<ReturnType<typeof openPrefixProxy>>
  before(async () => {
    proxy = await openPrefixProxy('/library/', service.url)
  })
  after(() => proxy?.[Symbol.asyncDispose]())

  it('the page lists, adds and links books, and leads to the API', async () => {
    const page = await openCatalogue(browser(), proxy.url)
    await page.showsTitles('Volume 0', 'Volume 1')
    // The pages of the list, by their links.
    while (!(await page.getByText(`Volume ${BOOKS - 1}`, { exact: true }).isVisible()))
      await page.scrollTo(1e6)
    await page.addBook({ Title: 'Added under a path', Author: 'B', Year: '2000' })
    await page.button('Save').click()
    await page.showsNoDialog()
    await page.search('under')
    await page.openBook('Added under a path')
    await page.link('Link to this book').waitFor()
    const link = await page.evaluate(`document.querySelector('#editor a').href`)
    assert.equal(link, `${proxy.url}#book=${BOOKS + 1}`)
    await page.keys('Escape')
    await page.button('Menu').click()
    await page.link('API').click()
    await page.waitForURL(`${proxy.url}docs`)
  })

  it('the page is there also at the path without its slash', async () => {
    const page = await openCatalogue(browser(), `${proxy.url.slice(0, -1)}?q=7#book=7`)
    await page.showsTitles('Volume 7')
    await page.field('Title').waitFor()
    assert.equal(page.url(), `${proxy.url}?q=7#book=7`)
  })

  it('/docs/ calls the service, and leads back to the page', async () => {
    const page = await openPage(browser(), `${proxy.url}docs/`)
    await page.logIn()
    const list = page.locator('#listBooks')
    await list.locator('> summary').click()
    await list.getByRole('button', { name: 'Send' }).click()
    await list.getByText('Books retrieved successfully').first().waitFor()
    await page.link('Catalogue').click()
    await page.waitForURL(proxy.url)
  })

  it('the document leads to the service', async () => {
    const address = `${proxy.url}openapi.json`
    const { servers } = (await (await fetch(address)).json()) as { servers: [{ url: string }] }
    assert.equal(new URL(servers[0].url, address).href, proxy.url)
  })
})
