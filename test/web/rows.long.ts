import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { openCatalogue, openTab, page, series, usePage } from './page.ts'

const HIDE = `{
  Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })
  document.dispatchEvent(new Event('visibilitychange', { bubbles: true }))
}`

describe('the rows of the web page', { skip: browserMissing }, () => {
  // More than one page of the list.
  const service = useService((service) => service.importBooks(series(130)))
  const browser = usePage(() => service.url, 'Volume 0')

  it('are links, which open in another tab with Ctrl', async () => {
    const open = (column: string) =>
      openTab(page, () =>
        page
          .locator(`.row .${column} a`)
          .first()
          .click({ modifiers: ['Control'] }),
      )
    assert.equal(await (await open('title')).field('Title').inputValue(), 'Volume 0')
    await (await open('author')).button('Author: Series, clear this filter').waitFor()
    assert.equal(await page.dialog().count(), 0)
    assert.equal(new URL(page.url()).search, '?sort=id')
    // On a Mac it is another key. The page leaves both to the browser.
    const init = '{ metaKey: true, bubbles: true, cancelable: true }'
    assert.ok(
      await page.evaluate(
        `document.querySelector('.row .title a').dispatchEvent(new MouseEvent('click', ${init}))`,
      ),
    )
  })

  for (const column of ['title', 'author'])
    it(`let the text of the ${column} be copied`, async () => {
      const text = page.locator(`.row .${column} a`).first()
      const { x, y, width, height } = (await text.boundingBox()) ?? assert.fail('no text')
      // From behind the text: in a link, Chromium begins no selection.
      for (const from of [x + width + 5, x + width - 1]) {
        await page.mouse.move(from, y + height / 2)
        await page.mouse.down()
        await page.mouse.move(x + 1, y + height / 2, { steps: 5 })
        await page.mouse.up()
        assert.equal(await page.dialog().count(), 0)
        assert.equal(new URL(page.url()).search, '?sort=id')
        if (from > x + width) assert.match(await page.evaluate('getSelection().toString()'), /olume 0|erie/)
      }
      // Not taken for the end of a movement from where the mouse was pressed before.
      await page.box('Volume 9').click()
      await text.press('Enter')
      if (column === 'title') await page.dialog().waitFor()
      else await page.waitForURL(/author=/)
    })

  it('are higher if one has chosen so, also after a reload', async () => {
    for (const isRoomy of [true, false]) {
      await page.chooseInMenu('Comfortable rows')
      await page.reload()
      await page.link('Volume 0').waitFor()
      assert.equal(await page.evaluate(`document.documentElement.matches('.roomy')`), isRoomy)
    }
    await page.scrollTo(60 * 36)
    await page.chooseInMenu('Comfortable rows')
    await page.waitUntil(`document.querySelector('.rows').scrollTop === 60 * 44`)
  })

  it('are deleted at once when another follows, or the notice is dismissed, but not while another tab is shown', async () => {
    await page.takeClock()
    const deletion = (id: number) =>
      page.waitForResponse(
        (response) => response.request().method() === 'DELETE' && response.url().endsWith(`/book/${id}`),
      )
    await page.deleteBook('Volume 10')
    await page.shows('Deleted “Volume 10”.')
    await Promise.all([deletion(11), page.deleteBook('Volume 11')])
    await page.hides('Deleted “Volume 10”.')
    await Promise.all([deletion(12), page.button('Dismiss').click()])
    await page.button('Undo').waitFor({ state: 'hidden' })
    await page.deleteBook('Volume 4')
    await page.openBook('Volume 5', { Year: '2001' })
    await page.choose('Save', 'Saved “Volume 5”.')
    await page.evaluate(HIDE)
    await page.button('Undo').click()
    await page.link('Volume 4').waitFor()
  })

  it('show what somebody else has changed, once that kept a book from being deleted, or it is opened', async () => {
    await page.keepNotices()
    await page.box('Volume 8').click()
    await page.openBook('Volume 8')
    const remove = page.dialog().getByRole('button', { name: 'Delete' })
    await remove.waitFor()
    await service.updateBook(9, { title: 'Volume 8, revised' })
    await remove.click()
    await page.choose('Dismiss', '“Volume 8” was not deleted: someone else has changed it.')
    await page.link('Volume 8, revised').waitFor()
    // The selection had the version from before.
    assert.equal(await page.button('Clear').count(), 0)
    await service.updateBook(9, { title: 'Volume 8' })
    await page.openBook('Volume 8, revised')
    await page.link('Volume 8').waitFor()
  })

  it('are deleted on a phone as soon as the page is hidden, and it says so afterwards', async () => {
    const phone = await openCatalogue(browser(), service.url, { isMobile: true, hasTouch: true })
    await phone.keepNotices()
    await phone.deleteBook('Volume 20')
    await Promise.all([phone.waitForResponse(/book\/21$/), phone.evaluate(HIDE)])
    await phone.button('Undo').waitFor({ state: 'hidden' })
    await phone.shows('Deleted “Volume 20”.')
  })

  it('are opened by a tap beside the text, which the browser moves to it', async () => {
    const phone = await openCatalogue(browser(), service.url, { isMobile: true, hasTouch: true })
    const text = phone.link('Volume 1')
    const { x, y, width, height } = (await text.boundingBox()) ?? assert.fail('no text')
    const finger = { x: x + width + 12, y: y + height / 2, radiusX: 20, radiusY: 20 }
    const devtools = await phone.context().newCDPSession(phone)
    await devtools.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [finger] })
    await devtools.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
    await phone.field('Title').waitFor()
  })

  it('are sorted by year with those of an unknown year at the end', async () => {
    for (const year of [-500, 0, 1700])
      await service.createBook({ title: `Of ${year}`, author: 'Unknown', year })
    for (const [parameters, ...titles] of [
      ['sort=year', 'Of -500', 'Of 1700', 'Of 0'],
      ['sort=-year', 'Of 1700', 'Of -500', 'Of 0'],
      ['sort=-year&year_min=0', 'Of 1700', 'Of 0'],
      ['sort=year&year_max=0', 'Of -500', 'Of 0'],
      ['sort=year&year_min=1', 'Of 1700'],
      ['sort=-year&year_min=0&year_max=0', 'Of 0'],
    ] as const) {
      await page.list(`${service.url}/?author=Unknown&${parameters}`, ...titles)
      await page.shows(`${titles.length} book`)
    }
    // There are no years before 1 BC: the list is replaced once there are books.
    await page.list(`${service.url}/?author=Series`, 'Volume 129')
    const held = await page.hold('GET', /year_min=1$/, () => page.sortBy('Earliest year'))
    assert.ok((await page.locator('.row .title').count()) > 0)
    await held.release()
    // A request that fails is made again, and no part of the list is left out.
    await page.route(/year_min=1$/, (route) => route.abort(), { times: 1 })
    await page.goto(`${service.url}/?author=Series&sort=year`)
    await page.button('Retry now').click()
    await page.link('Volume 2').waitFor()
  })
})

describe('a book that was added on the web page', { skip: browserMissing }, () => {
  // More than the page reads to find a book.
  const service = useService((service) =>
    service.importBooks(series(2500).map((book, i) => ({ ...book, year: 1000 + i }))),
  )
  usePage(() => service.url, 'Volume 0')

  const isMarked = (title: string) => page.locator('.row.added .title').getByText(title).waitFor()

  async function add(title: string, year: string): Promise<void> {
    await page.addBook({ Title: title, Year: year })
    await page.keys('Enter')
  }

  it('is the first in the order by default, except in a search, which has the best match first', async () => {
    await page.list(service.url, 'Volume 2499')
    await page.shows(/^2,5\d\d books$/)
    // An export has the order in which they were added, so that an import elsewhere keeps it.
    await page.chooseInMenu('Export…')
    const file = page.waitForRequest(/spreadsheet/)
    await page.button('CSV for spreadsheets').click()
    assert.equal(new URL((await file).url()).search, '?spreadsheet=true')
    await page.showsNoDialog()
    await page.scrollTo(105 * 36)
    await page.link('Volume 2390').waitFor()
    const atPlace = await page.hold('GET', /after=/)
    await add('Newest', '1')
    await isMarked('Newest')
    // The list does not go on to where it was.
    await atPlace.release()
    await page.isInSight('.row.added')
    // Chosen again, the order by default is not kept for a search.
    await page.sortBy('Title A–Z')
    await page.sortBy('Newest added')
    await page.showsTitles('Newest')
    assert.equal(await page.getByLabel('Sort by').inputValue(), '-id')
    await page.search('volume 7', 'Volume 7')
    assert.equal(await page.getByLabel('Sort by').inputValue(), '')
    assert.match(page.url(), /\/\?q=volume\+7$/)
    await page.sortBy('Newest added')
    await page.showsTitles('Volume 799')
    assert.match(page.url(), /&sort=-id$/)
  })

  for (const width of [1100, 390])
    it(`is scrolled to and marked in its place, in a window ${width} pixels wide`, async () => {
      await page.setViewportSize({ width, height: 800 })
      await page.sortBy('Earliest year')
      await page.waitForURL(/sort=year/)
      await add(`Between ${width}`, '2500')
      await isMarked(`Between ${width}`)
      await page.isInSight('.row.added')
      await page.assertAccessible(`added-${width}`)
      // Also at the end of the list, as is the last book by the keyboard.
      await page.list(`${service.url}/?sort=year&year_min=3450`, 'Volume 2450')
      await add('At the end', '9000')
      await isMarked('At the end')
      await page.isInSight('.row.added')
      await page.scrollTo(0)
      await page.locator('.row .title a').first().focus()
      await page.keys('Control+End')
      await page.isInSight('.row.added :focus')
    })

  it('that is too far down to scroll to is told, beside the books in sight, and shown with the newest first', async () => {
    await page.keepNotices()
    await page.shows(/^2,5\d\d books$/)
    await page.scrollTo(1000 * 36)
    await page.link('Volume 1000').waitFor()
    await add('Far away', '1')
    await page.shows('It is far down in this list')
    // The list stays where it was.
    await page.link('Volume 1000').waitFor()
    await page.button('Show newest first').click()
    await page.showsTitles('Far away')
    await isMarked('Far away')
  })
})

describe('a list of the web page some of whose books were deleted or edited', {
  skip: browserMissing,
}, () => {
  // More than the page keeps in memory around what is in sight.
  const service = useService((service) =>
    service.importBooks(series(1500).map((book, i) => ({ ...book, year: 1000 + i }))),
  )
  usePage(() => `${service.url}/?sort=year`, 'Volume 0')

  it('has each of the others once, also when it is read again', async () => {
    const showsVolume = (volume: number, row: number) =>
      page
        .locator(`.row[aria-rowindex="${row + 2}"]`)
        .getByText(`Volume ${volume}`, { exact: true })
        .waitFor()
    await page.keepNotices()
    await page.showsExactly('1,500 books')
    await page.deleteBook('Volume 5')
    await page.showsExactly('1,499 books')
    await page.button('Undo').click()
    await page.showsExactly('1,500 books')
    await page.deleteBook('Volume 5')
    const deletion = page.waitForResponse((response) => response.request().method() === 'DELETE')
    await page.button('Dismiss').click()
    await deletion
    // It keeps its place until the list is read again.
    await page.openBook('Volume 1', { Year: '9000' })
    await page.choose('Save', 'Saved “Volume 1”.')
    await page.showsTitles('Volume 0', 'Volume 1', 'Volume 2', 'Volume 3', 'Volume 4', 'Volume 6')
    await page.link('Volume 0').focus()
    await page.keys('Control+End')
    await showsVolume(1499, 1498)
    await page.showsExactly('1,499 books')
    assert.equal((await page.titles()).at(-1), 'Volume 1499')
    // Of a long list, only those near are in memory, and printed.
    await page.evaluate(`dispatchEvent(new Event('beforeprint'))`)
    await page.shows(/^Books [1-9]\d\d to 1499 of 1499\./)
    await page.evaluate(`dispatchEvent(new Event('afterprint'))`)
    await page.selectAll()
    await page.showsExactly('1,499 selected')
    assert.ok(await page.getByLabel('Select all').isChecked())
    await page.keys('Control+Home')
    await page.showsTitles('Volume 0', 'Volume 2', 'Volume 3', 'Volume 4', 'Volume 6')
    await page.scrollTo(90 * 36)
    for (const row of [98, 99, 100, 101]) await showsVolume(row + 2, row)
    await page.keys('Control+End')
    await showsVolume(1, 1498)
    await page.showsExactly('1,499 books')
    // Others add books, which come into sight when their page is read again.
    for (let i = 0; i < 5; i++) await service.createBook({ title: 'Before', year: 1 })
    await page.keys('Control+Home')
    await page.showsTitles(...Array(5).fill('Before'), 'Volume 0', 'Volume 2', 'Volume 3', 'Volume 4')
    await page.scrollTo(90 * 36)
    for (const row of [98, 100, 102, 104, 106]) await showsVolume(row - 3, row)
    await page.keys('Control+End')
    await showsVolume(1, 1503)
    await page.showsExactly('1,504 books')
    // It is read once more if that fails. The bar of the selection leaves the button free.
    await page.route('**/books?*', (route) => route.abort(), { times: 1 })
    await page.keys('Control+Home')
    await page.button('Retry now').click()
    await page.showsTitles('Before')
    await page.hides('Retrying every few seconds.')
  })
})
