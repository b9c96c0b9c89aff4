import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { browserMissing, useBrowser } from '../support/browser.ts'
import { openPrefixProxy } from '../support/prefix-proxy.ts'
import { useService } from '../support/use-service.ts'
import { type CataloguePage, openCatalogue, openPage, series } from './page.ts'
import { KEPT } from './timing.ts'

const MARKUP = '<img src=x onerror="document.title=`stolen`">'

describe('the web page in a browser, behind a proxy that has the service at /library/', {
  skip: browserMissing,
}, () => {
  const service = useService(async (service) => {
    await service.createBook({ title: 'Kindred', author: 'Octavia E. Butler', year: 1979 })
    await service.createBook({ title: MARKUP, author: MARKUP, year: 1000 })
    await service.createBook({ title: 'Cien años de soledad', author: 'Gabriel García Márquez', year: 1967 })
    await service.importBooks(series(1200).map((book, i) => ({ ...book, year: 2100 + i })))
  })
  const browser = useBrowser()
  let proxy: Awaited<ReturnType<typeof openPrefixProxy>>
  let page: CataloguePage

  before(async () => {
    proxy = await openPrefixProxy('/library/', service.url)
    page = await openPage(browser(), proxy.url)
  })
  after(() => proxy?.[Symbol.asyncDispose]())

  it('refuses a wrong password, and says so', async () => {
    await page.getByLabel('Username').fill('admin')
    // It asks however often Escape is pressed.
    await page.keys('Escape', 'Escape', 'Escape')
    await page.getByLabel('Password', { exact: true }).fill('wrong')
    await page.choose('Log in', 'Wrong username or password.')
    await page.waitUntil(`document.activeElement.matches('input')`)
    await page.assertAccessible('login')
    await page.refuse('**/token', 429, 1)
    await page.choose('Log in', 'Too many attempts.')
    assert.equal(await page.getByLabel('Username').inputValue(), 'admin')
  })

  it('shows the books after the log-in; their text only ever as text', async () => {
    await page.logIn()
    await page.showsTitles('Kindred', MARKUP, 'Cien años de soledad')
    await page.shows('1,203 books')
    assert.equal(await page.locator('.rows img').count(), 0)
    assert.equal(await page.title(), 'Book Catalogue')
    await page.assertAccessible('list')
    // Pages of the list are loaded while one scrolls, and only the rows in sight are in the document.
    while (!(await page.titles()).includes('Volume 1199')) await page.scrollTo(1e6)
    assert.ok((await page.locator('.row').count()) < 80)
    await page.scrollTo(0)
    await page.showsTitles('Kindred')
  })

  it('searches as one types, and sorts by a column; the address has both', async () => {
    await page.search('garc', 'Cien años de soledad')
    assert.match(page.url(), /\?q=garc&sort=id$/)
    await page.search('')
    await page.button('Year').click()
    await page.showsTitles(MARKUP, 'Cien años de soledad', 'Kindred')
    await page.button('Year').click()
    await page.showsTitles('Volume 1199', 'Volume 1198')
    assert.match(page.url(), /\?sort=-year$/)
    await page.goBack()
    await page.showsTitles(MARKUP)
    await page.goForward()
    await page.showsTitles('Volume 1199')
    await page.getByLabel('To year').fill('1970')
    await page.showsTitles('Cien años de soledad', MARKUP)
    await page.getByLabel('To year').fill('')
    // More would not fit into an address, and a link may have more.
    await page.search('言'.repeat(1800))
    await page.shows('No books found')
    await page.refuse(/q=long/, 431, 1)
    for (const text of ['long', Array.from({ length: 33 }, (_, i) => `w${i}`).join(' ')]) {
      await page.search(text)
      await page.shows('Too many words to search for')
      await page.button('Show all books').click()
      await page.showsTitles('Volume 1199')
    }
  })

  it('adds a book, and refuses a year that is none', async () => {
    await page.addBook({ Title: 'Dune', Author: 'Frank Herbert', Year: 'about 1965' })
    await page.keys('Enter')
    await page.shows('“about 1965” is not a year')
    await page.fillIn({ Year: '1965' })
    await page.keys('Enter')
    await page.shows('Added “Dune”.')
    await page.search('dune', 'Dune')
  })

  it('deletes a book after some seconds, in which it can be undone, also in the charts', async () => {
    await page.takeClock()
    await page.button('Statistics').click()
    await page.button('Frank Herbert 1 book').waitFor()
    const [book] = await service.listBooks('q=dune')
    const remove = async () => {
      await page.deleteBook('Dune')
      await page.shows('No books found')
    }
    await remove()
    assert.deepEqual(await service.listBooks('q=dune'), [book])
    await page.button('Undo').click()
    await page.showsTitles('Dune')
    await remove()
    const deleted = page.waitForResponse((response) => response.request().method() === 'DELETE')
    await page.clock.fastForward(KEPT)
    assert.equal((await deleted).status(), 200)
    await page.shows('No books to show statistics for.')
    await page.button('Statistics').click()
    assert.equal(await page.button('Undo').count(), 0)
    assert.deepEqual(await service.listBooks('title=Dune'), [])
  })

  it('sends a deletion when the page is closed before', async () => {
    const deletion = Promise.withResolvers<IncomingMessage>()
    await using proxy = await openPrefixProxy('/', service.url, {
      handle(request) {
        if (request.method === 'DELETE') deletion.resolve(request)
        return request.method === 'DELETE'
      },
    })
    const other = await openCatalogue(browser(), `${proxy.url}?q=kindred`)
    await other.keepNotices()
    await other.deleteBook('Kindred')
    await other.shows('No books found')
    await Promise.all([other.waitForEvent('close'), other.close({ runBeforeUnload: true })])
    const { url, socket } = await deletion.promise
    assert.equal(url, '/book/1')
    // By then a request that ends with its page has been given up.
    await setTimeout(1000)
    assert.equal(socket.destroyed, false)
  })

  it('says shortly before the token ends that it does, and asks for the password above what is being typed', async () => {
    const other = await openPage(browser(), 'about:blank')
    await other.clock.install()
    await other.goto(`${service.url}/?sort=id`)
    await other.logIn()
    await other.addBook({ Title: 'Half a ti' })
    await other.clock.fastForward('14:30')
    await other.shows('Your session ends in a minute.')
    await other.keyboard.type('tle')
    await other.choose('Stay logged in', 'Your changes are kept')
    assert.equal(await other.getByLabel('Password', { exact: true }).inputValue(), '')
    await other.assertAccessible('expiry')
    await other.enterPassword()
    assert.equal(await other.field('Title').inputValue(), 'Half a title')
    assert.equal(await other.getByText('Your session ends in a minute.').count(), 0)
    await other.context().close()
  })

  it('exports what is shown in each format, without what was deleted, even if that could still be undone', async () => {
    await service.createBook({ title: 'Kindred spirits' })
    await page.search('kindr', 'Kindred', 'Kindred spirits')
    await page.deleteBook('Kindred spirits')
    for (const [format, name, content] of [
      [
        'CSV for spreadsheets',
        'books.csv',
        /^\ufeffbook-catalogue id,title,author,year\r\n1,Kindred,.*,1979\r\n$/,
      ],
      ['CSV for programs', 'books.csv', /^id,title,author,year\r\n1,Kindred,.*,1979\r\n$/],
      ['NDJSON for programs', 'books.ndjson', /^\{"id":1,"title":"Kindred","author":".*","year":1979\}\n$/],
    ] as const) {
      await page.chooseInMenu('Export…')
      const [file] = await Promise.all([page.waitForEvent('download'), page.button(format).click()])
      await page.showsNoDialog()
      assert.equal(file.suggestedFilename(), name)
      assert.match(readFileSync(await file.path(), 'utf8'), content)
    }
    assert.equal(await page.button('Undo').count(), 0)
  })

  it('links its books, is there also without the slash of its path, and leads to /docs, which describes this service, and back', async () => {
    await page.openBook('Kindred')
    await page.link('Link to this book').waitFor()
    const link = await page.evaluate(`document.querySelector('#editor a').href`)
    assert.equal(link, `${proxy.url}#book=1`)
    await page.goto(`${proxy.url.slice(0, -1)}?q=kindred#book=1`)
    await page.field('Title').waitFor()
    assert.equal(page.url(), `${proxy.url}?q=kindred#book=1`)
    await page.button('Menu').click()
    await page.link('API').click()
    await page.waitForURL(`${proxy.url}docs`)
    const list = page.locator('#listBooks')
    await list.locator('> summary').click()
    await list.getByRole('button', { name: 'Send' }).click()
    await list.getByText('Books retrieved successfully').first().waitFor()
    await page.link('Catalogue').click()
    await page.waitForURL(proxy.url)
    const description = `${proxy.url}openapi.json`
    const { servers } = (await (await fetch(description)).json()) as { servers: [{ url: string }] }
    assert.equal(new URL(servers[0].url, description).href, proxy.url)
  })
})
