import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { browserMissing, useBrowser } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import {
  assertAccessible,
  chooseInMenu,
  enterPassword,
  KEPT,
  keepNotices,
  logInOn,
  openCatalogue,
  openPage,
  screenshot,
  titles,
  waitForTitles,
} from './page.ts'
import { Relay } from './relay.ts'

const MARKUP = '<img src=x onerror="document.title=`stolen`">'

describe('the web page in a browser', { skip: browserMissing }, () => {
  const service = useService(async (service) => {
    await service.createBook({ title: 'Kindred', author: 'Octavia E. Butler', year: 1979 })
    await service.createBook({ title: MARKUP, author: MARKUP, year: 1000 })
    await service.createBook({ title: 'Cien años de soledad', author: 'Gabriel García Márquez', year: 1967 })
    await service.importBooks(
      Array.from({ length: 1200 }, (_, i) => ({ title: `Volume ${i}`, author: 'Series', year: 2100 + i })),
    )
  })
  const browser = useBrowser()
  let page: Page

  before(async () => {
    page = await openPage(browser(), service.url)
  })

  const search = (text: string) => page.getByLabel('Search').fill(text)
  const dialog = () => page.getByRole('dialog')

  it('refuses a wrong password, and says so', async () => {
    await page.getByLabel('Username').fill('admin')
    await page.getByLabel('Password', { exact: true }).fill('wrong')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByText('Wrong username or password.').waitFor()
    await assertAccessible(page, 'login')
  })

  it('shows the books after the log-in; their text only ever as text', async () => {
    await logInOn(page)
    await waitForTitles(page, ['Kindred', MARKUP, 'Cien años de soledad'])
    await page.getByText('1,203 books').waitFor()
    assert.equal(await page.locator('.rows img').count(), 0)
    assert.equal(await page.title(), 'Book Catalogue')
    await assertAccessible(page, 'list')
  })

  it('loads pages while one scrolls, with only the rows in sight in the document', async () => {
    const nodes = () => page.evaluate('countNodes()') as Promise<number>
    await page.evaluate(`globalThis.countNodes = () => {
      const walker = document.createTreeWalker(document.querySelector('.rows'))
      let count = 0
      while (walker.nextNode()) count++
      return count
    }`)
    const before = await nodes()
    for (let i = 0; i < 600 && !(await titles(page)).includes('Volume 1199'); i++) {
      await page.locator('.rows').evaluate((rows) => rows.scrollTo(0, rows.scrollHeight))
      await page.waitForTimeout(60)
    }
    assert.ok((await titles(page)).includes('Volume 1199'))
    assert.ok((await page.locator('.row').count()) < 80)
    await page.locator('.rows').evaluate((rows) => rows.scrollTo(0, 0))
    await waitForTitles(page, ['Kindred'])
    assert.ok(Math.abs((await nodes()) - before) < 20, `${await nodes()} nodes, ${before} before`)
  })

  it('searches as one types, and sorts by a column; the address has both', async () => {
    await search('garc')
    await waitForTitles(page, ['Cien años de soledad'])
    assert.match(page.url(), /\?q=garc&sort=id$/)
    await search('')
    await page.getByRole('button', { name: 'Year', exact: true }).click()
    await waitForTitles(page, [MARKUP, 'Cien años de soledad', 'Kindred'])
    await page.getByRole('button', { name: 'Year', exact: true }).click()
    await waitForTitles(page, ['Volume 1199', 'Volume 1198'])
    assert.match(page.url(), /\?sort=-year$/)
    await page.goBack()
    await waitForTitles(page, [MARKUP])
    await page.goForward()
    await waitForTitles(page, ['Volume 1199'])
    await page.getByLabel('To year').fill('1970')
    await waitForTitles(page, ['Cien años de soledad', MARKUP])
    await page.getByLabel('To year').fill('')
  })

  it('has something to say when there is nothing to show', async () => {
    await search('nosuchword')
    await page.getByText('No books found').waitFor()
    await assertAccessible(page)
    await search(Array.from({ length: 33 }, (_, i) => `w${i}`).join(' '))
    await page.getByText('Too many words to search for').waitFor()
    await page.getByRole('button', { name: 'Show all books' }).click()
    await waitForTitles(page, ['Volume 1199'])
  })

  it('shows the books by decade and by author, and filters by a bar', async () => {
    await page.getByRole('button', { name: 'Statistics' }).click()
    const width = (name: string) =>
      page
        .getByRole('button', { name })
        .evaluate((button) =>
          Number.parseFloat(
            button.ownerDocument.defaultView?.getComputedStyle(button, '::before').width ?? '',
          ),
        )
    assert.ok((await width('Series 1,200 books')) > 100 * (await width('Octavia E. Butler 1 book')))
    await assertAccessible(page, 'charts')
    await page.getByLabel('To year').fill('2100')
    await page.getByRole('button', { name: '1970: 1 book' }).press('Enter')
    await waitForTitles(page, ['Kindred'])
    assert.match(page.url(), /year_min=1970&year_max=1979/)
    await page.getByRole('button', { name: 'Octavia E. Butler 1 book' }).click()
    await page.getByRole('button', { name: 'Author: Octavia E. Butler' }).waitFor()
    await page.getByRole('button', { name: 'Statistics' }).click()
    await page.getByRole('button', { name: 'Author: Octavia E. Butler' }).click()
    await page.getByLabel('From year').fill('')
    await page.getByLabel('To year').fill('')
    await waitForTitles(page, ['Volume 1199'])
  })

  it('adds a book, and refuses a year that is none', async () => {
    await page.getByRole('button', { name: 'Add book' }).click()
    await dialog().getByLabel('Title').fill('Dune')
    await dialog().getByLabel('Author').fill('Frank Herbert')
    await dialog().getByLabel('Year').fill('about 1965')
    await page.keyboard.press('Enter')
    await page.getByText('“about 1965” is not a year').waitFor()
    await assertAccessible(page)
    await dialog().getByLabel('Year').fill('1965')
    await page.keyboard.press('Enter')
    await page.getByText('Added “Dune”.').waitFor()
    await search('dune')
    await waitForTitles(page, ['Dune'])
  })

  it('edits a book in place, with the keyboard alone', async () => {
    await page.getByRole('link', { name: 'Dune' }).press('Enter')
    await screenshot(page, 'edit')
    assert.equal(await dialog().getByLabel('Title').inputValue(), 'Dune')
    await page.keyboard.press('End')
    await page.keyboard.type(' Messiah')
    await page.keyboard.press('Enter')
    await waitForTitles(page, ['Dune Messiah'])
  })

  it('shows both versions when two people edit one book, and overwrites nothing unseen', async () => {
    const other = await openCatalogue(browser(), `${service.url}/?q=dune`)
    await other.getByRole('link', { name: 'Dune Messiah' }).click()
    await page.getByRole('link', { name: 'Dune Messiah' }).click()
    await other.getByRole('dialog').getByLabel('Year').fill('1969')
    await other.getByRole('button', { name: 'Save' }).click()
    await other.getByText('Saved “Dune Messiah”.').waitFor()

    await dialog().getByLabel('Author').fill('F. Herbert')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Someone else has changed this book').waitFor()
    assert.match(
      await dialog().locator('table').innerText(),
      /F\. Herbert[\s\S]*Frank Herbert[\s\S]*1965[\s\S]*1969/,
    )
    await assertAccessible(page, 'conflict')
    await page.getByRole('button', { name: 'Overwrite with mine' }).click()
    await page.getByText('Saved “Dune Messiah”.').last().waitFor()
    await other.context().close()
  })

  it('deletes a book after some seconds, in which it can be undone', async () => {
    const remove = async () => {
      await page.getByRole('link', { name: 'Dune Messiah' }).click()
      await page.getByRole('button', { name: 'Delete' }).click()
      await page.getByText('No books found').waitFor()
    }
    await page.clock.install()
    await keepNotices(page)
    const id = 1204
    const status = async () =>
      (await fetch(`${service.url}/book/${id}`, { headers: { authorization: service.token } })).status
    await remove()
    assert.equal(await status(), 200)
    await page.getByRole('button', { name: 'Undo' }).click()
    await waitForTitles(page, ['Dune Messiah'])
    await remove()
    const deleted = page.waitForResponse((response) => response.request().method() === 'DELETE')
    await page.clock.fastForward(KEPT)
    assert.equal((await deleted).status(), 200)
    await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'hidden' })
    assert.equal(await status(), 404)
    await page.getByRole('button', { name: 'Show all books' }).click()
  })

  it('moves up the rows after a deleted book, also those that were read with another page of the list', async () => {
    const viewport = { width: 1100, height: 5000 }
    const other = await openCatalogue(browser(), `${service.url}/?year_min=2100&sort=year`, { viewport })
    const waitForRow = async (row: number, title: string) =>
      other.locator(`.row[aria-rowindex="${row + 2}"]`, { hasText: title }).waitFor()
    await waitForRow(100, 'Volume 100')
    await keepNotices(other)
    await other.getByRole('link', { name: 'Volume 98' }).click()
    await other.getByRole('button', { name: 'Delete' }).click()
    for (const row of [98, 99, 100]) await waitForRow(row, `Volume ${row + 1}`)
    await other.getByRole('button', { name: 'Undo' }).click()
    for (const row of [98, 99, 100]) await waitForRow(row, `Volume ${row}`)
    await other.context().close()
  })

  it('sends a deletion when the page is closed before', async () => {
    const id = await service.createBook({ title: 'Shortlived', author: 'X', year: 1 })
    await using relay = await Relay.open(() => service.url)
    const other = await openCatalogue(browser(), `${relay.url}/?q=shortlived`)
    await other.getByRole('link', { name: 'Shortlived' }).click()
    await keepNotices(other)
    await other.getByRole('button', { name: 'Delete' }).click()
    await other.getByText('No books found').waitFor()
    const deletion = relay.hold('DELETE ')
    const closed = other.waitForEvent('close')
    await other.close({ runBeforeUnload: true })
    await Promise.all([closed, deletion.arrived])
    // By then a request that ends with its page has been given up.
    await page.waitForTimeout(1000)
    deletion.release()
    const headers = { authorization: service.token }
    for (const deadline = Date.now() + 30_000; Date.now() < deadline; await page.waitForTimeout(50))
      if ((await fetch(`${service.url}/book/${id}`, { headers })).status === 404) return
    assert.fail('the book is still there')
  })

  it('says shortly before the token ends that it does, and asks for the password above what is being typed', async () => {
    const other = await openPage(browser(), 'about:blank')
    await other.clock.install()
    await other.goto(`${service.url}/?sort=id`)
    await logInOn(other)
    await waitForTitles(other, ['Kindred'])
    await other.getByRole('button', { name: 'Add book' }).click()
    await other.getByRole('dialog').getByLabel('Title').fill('Half a ti')
    await other.clock.fastForward('14:30')
    await other.getByText('Your session ends in a minute.').waitFor()
    await other.keyboard.type('tle')
    await other.getByRole('button', { name: 'Stay logged in' }).click()
    await other.getByText('Your changes are kept').waitFor()
    assert.equal(await other.getByLabel('Password', { exact: true }).inputValue(), '')
    await assertAccessible(other, 'expiry')
    await enterPassword(other)
    assert.equal(await other.getByRole('dialog').getByLabel('Title').inputValue(), 'Half a title')
    assert.equal(await other.getByText('Your session ends in a minute.').count(), 0)
    await other.context().close()
  })

  it('imports a file after a dry run, and says what is wrong with one', async () => {
    await chooseInMenu(page, 'Import…')
    const choose = (text: string | Buffer) =>
      dialog()
        .getByLabel('File')
        .setInputFiles({ name: 'books.csv', mimeType: 'text/csv', buffer: Buffer.from(text) })
    await choose('title,author,year\nA good one,B,1\nA bad one,B,late\n')
    await dialog().getByText('1 ready · 1 with errors').waitFor()
    await dialog().getByText('Rows with errors are left out').click()
    await dialog().getByText('is not a year').waitFor()
    await assertAccessible(page, 'import-report')
    await choose(Buffer.from('PK\x03\x04'))
    await dialog().getByText('save it as CSV in UTF-8').waitFor()
    await choose(Buffer.from('title,author,year\nGr\xfc\xdfe,B,1\n', 'latin1'))
    await dialog()
      .getByText('"Gr\ufffd\ufffde" is not in UTF-8; the file seems to be in another encoding')
      .waitFor()
    await choose('sep=;\r\ntitle;author;year\nA good one;B;1\r')
    await dialog().getByText('is not in UTF-8').waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Import 1 book', exact: true }).click()
    await page.getByText('Imported 1 book.').waitFor()
  })

  for (const [format, name, content] of [
    [
      'CSV for spreadsheets',
      'books.csv',
      /^\ufeffbook-catalogue id,title,author,year\r\n\d+,A good one,B,1\r\n$/,
    ],
    ['CSV for programs', 'books.csv', /^id,title,author,year\r\n\d+,A good one,B,1\r\n$/],
    ['NDJSON for programs', 'books.ndjson', /^\{"id":\d+,"title":"A good one","author":"B","year":1\}\n$/],
  ] as const)
    it(`exports what is shown as ${format}`, async () => {
      await search('good one')
      await waitForTitles(page, ['A good one'])
      await chooseInMenu(page, 'Export…')
      await assertAccessible(page)
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: format }).click(),
      ])
      assert.equal(download.suggestedFilename(), name)
      const chunks = await (await download.createReadStream()).toArray()
      assert.match(Buffer.concat(chunks).toString(), content)
      await dialog().waitFor({ state: 'hidden' })
    })
})
