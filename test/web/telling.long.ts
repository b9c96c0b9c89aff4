import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Route } from 'playwright-core'
import { browserMissing } from '../support/browser.ts'
import { until } from '../support/until.ts'
import { useService } from '../support/use-service.ts'
import { page, series, usePage } from './page.ts'

const LONG = 'Robinson Crusoe, of York, Mariner; '.repeat(15).slice(0, 500)

describe('what the web page says', { skip: browserMissing }, () => {
  // More than the page reads at once, so that it has to count them.
  const service = useService((service) => service.importBooks(series(250)))
  usePage(() => `${service.url}/?q=volume`, 'Volume 0')

  const count = (text: string) => page.locator('.count', { hasText: new RegExp(`^${text}$`) }).waitFor()

  it('says that books are loaded when a search takes long, and what became of it after a 503', async () => {
    const [answered, back] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await page.route(/books\?q=rare/, (route) => back.promise.then(() => route.continue()))
    await page.refuse(/books\?q=rare/, 503, 1, answered.promise)
    await page.search('rare')
    await page.shows('Loading…')
    await page.locator('.rows[aria-busy=true]').waitFor()
    answered.resolve()
    await page.shows('The service is busy')
    assert.deepEqual(await page.titles(), [])
    await page.button('Retry now').click()
    // It stays in sight until there is a response, whatever else is drawn anew.
    await page.setViewportSize({ width: 1000, height: 800 })
    await page.waitForTimeout(300)
    assert.ok(await page.getByText('The service is busy').isVisible())
    back.resolve()
    await page.shows('No books found')
    await page.hides('Loading…')
  })

  it('says what is wrong with a search that the service refuses', async () => {
    await page.goto(`${service.url}/?q=%00`)
    await page.shows('without NUL')
    await page.button('Show all books').click()
    await page.showsTitles('Volume 249')
  })

  it('says that a search may miss books while they are made searchable', async () => {
    let isIncomplete = true
    await page.route(/books\?q=volume/, async (route) => {
      const response = await route.fetch()
      const added = isIncomplete ? { 'x-search-index': 'incomplete' } : {}
      await route.fulfill({ response, headers: { ...response.headers(), ...added } })
    })
    await page.search('volume 1')
    await page.shows('New books are still being indexed')
    await page.assertAccessible()
    isIncomplete = false
    // It may, whatever is said of the books that follow.
    await Promise.all([page.waitForResponse(/after=/), page.scrollTo(95 * 36)])
    await page.locator('.row:not(.loading)[aria-rowindex="110"]').waitFor()
    assert.ok(await page.getByText('New books are still being indexed').isVisible())
    await page.button('Search again').click()
    await page.hides('New books are still being indexed')
    isIncomplete = true
    await page.search('volume nothing')
    await page.shows('No books found yet')
  })

  it('counts again every three seconds until the service answers', async () => {
    await page.route(/count=true/, (route) => route.abort(), { times: 4 })
    let failed = 0
    page.on('requestfailed', () => failed++)
    await page.stopClock()
    const listed = page.waitForResponse(/q=vol&/)
    await page.getByLabel('Search').fill('vol')
    for (const failures of [0, 1, 2, 3, 4]) {
      await page.clock.runFor(3000)
      await (failures === 0 ? listed : until('a failed count', () => failed >= failures))
      // Then the page has seen what became of the request.
      await page.evaluate(`fetch('/healthz').then((response) => response.text())`)
    }
    await page.clock.runFor(3000)
    await count('250 books')
  })

  it('says that it is counting, that it is opening a book, if that takes long, and that one is gone', async () => {
    await count('250 books')
    const counted = await page.hold('GET', /count=true/)
    await page.search('vol')
    await page.shows('Counting…')
    await counted.release()
    await count('250 books')
    await page.refuse(/count=true/, 400, 1)
    await Promise.all([page.waitForResponse(/count=true/), page.search('volu')])
    await page.hides('Counting…')
    await page.refuse(/q=vol&/, 500, 1)
    await page.search('vol')
    await page.button('Try again').click()
    await count('250 books')
    const read = await page.hold('GET', /\/book\/\d+$/)
    await page.openBook('Volume 2')
    await page.shows('Opening book…')
    await read.release()
    await page.hides('Opening book…')
    // A book that is gone is taken out of the list, and not said afterwards to be opened.
    const id = await service.createBook({ title: 'Volume gone' })
    await page.search('volume gone')
    await page.link('Volume gone').waitFor()
    await service.deleteBook(id)
    await page.stopClock()
    await page.openBook('Volume gone')
    await page.shows('Book not found.')
    await page.link('Volume gone').waitFor({ state: 'detached' })
    await page.clock.runFor(1000)
    assert.equal(await page.getByText('Opening book…').count(), 0)
  })

  it('reads and writes years as people do, where they are filtered and edited', async () => {
    // An `<input>` would drop the line break.
    const book = { title: 'Anc\nient', author: 'Oldest', year: -480 }
    const id = await service.createBook(book)
    await page.goto(`${service.url}/?author=Oldest&sort=unknown`)
    await page.button('Statistics').click()
    await page.button('480 BC: 1 book').waitFor()
    await page.openBook('Anc ↵ ient')
    assert.equal(await page.field('Year').inputValue(), '480 BC')
    await page.field('Title').press('Control+End')
    await page.keys('Shift+Enter', 'Backspace')
    await page.fillIn({ Year: '1,900' })
    await page.button('Save').click()
    await page.locator('.row .year', { hasText: '1900' }).waitFor()
    assert.deepEqual(await service.readBook(id), { ...book, id, year: 1900 })
    await page.button('1900: 1 book').waitFor()
    await page.getByLabel('From year').fill('500 BC')
    await page.waitForURL((url) => url.searchParams.get('year_min') === '-500')
    // It may still become one.
    await page.getByLabel('To year').fill('−')
    assert.equal(await page.getByText('is not a year').count(), 0)
  })

  it('asks for a title; no year is an unknown one', async () => {
    await page.addBook({ Year: '1999' })
    await page.choose('Save', 'Enter a title.')
    assert.ok(await page.field('Title').evaluate((element) => element.matches(':focus')))
    await page.fillIn({ Title: 'Named', Year: '' })
    await page.choose('Save', 'Added “Named”.')
    await page.search('named', 'Named')
    await page.getByTitle('Unknown year').getByText('—').waitFor()
    await page.openBook('Named')
    assert.equal(await page.field('Year').inputValue(), '')
    await service.createBook({ title: '', author: 'Program' })
    await page.goto(`${service.url}/?author=Program`)
    await page.openBook('(no title)', { Year: '13,800,000,000 BC' })
    await page.choose('Save', 'Saved “(no title)”.')
    await page.getByTitle('13800000000 BC').getByText('13.8B BC').waitFor()
    await page.openBook('(no title)', { Title: 'Nul\0' })
    await page.choose('Save', 'Could not save. The text has an invalid character')
    await page.refuse(/\/book\/\d+$/, 413, 1)
    await page.choose('Save', 'Title and author are too long.')
  })

  for (const [query, change] of [
    ['q=prefilter', { Title: 'Another' }],
    ['author=Gone', { Author: 'Another' }],
    ['year_max=1000', { Year: '1001' }],
  ] as const)
    it(`takes a book out of the list that no longer matches ${query}, and says so`, async () => {
      const id = await service.createBook({ title: 'Prefilter', author: 'Gone', year: 1000 })
      await page.list(`${service.url}/?${query}&year_min=900`, 'Prefilter')
      await page.box('Prefilter').click()
      await page.openBook('Prefilter', change)
      await page.choose('Save', 'no longer matches your search')
      await page.button('Clear').waitFor({ state: 'hidden' })
      await page.shows('No books found')
      await service.deleteBook(id)
    })

  it('keeps a book in the list if it cannot tell whether it still matches', async () => {
    const incomplete = { json: { data: [] }, headers: { 'x-search-index': 'incomplete' } }
    await page.choose('Statistics', 'Top authors')
    for (const Year of ['2001', '2002']) {
      const answer = (route: Route) => (Year === '2001' ? route.abort() : route.fulfill(incomplete))
      await page.route(/q=volume&title=/, answer, { times: 1 })
      await page.openBook('Volume 1', { Year })
      // They are read once that is decided.
      await Promise.all([page.waitForResponse(/statistics/), page.button('Save').click()])
      await page.showsTitles('Volume 0', 'Volume 1')
    }
    // Nor does it say that a new book does not match: it reads the list again.
    await page.route(/q=volume&title=/, (route) => route.abort(), { times: 1 })
    await page.addBook({ Title: 'Something new' })
    await Promise.all([page.waitForResponse(/q=volume&limit=/), page.button('Save').click()])
    assert.equal(await page.getByText('It does not match').count(), 0)
  })

  it('says that a new book does not match what is searched for', async () => {
    await page.keepNotices()
    await page.addBook({ Title: 'Something else', Year: '1' })
    await page.keys('Enter')
    await page.shows('Added “Something else”. It does not match')
    assert.equal(await page.getByText('far down in this list').count(), 0)
    await page.locator('.notice').getByRole('button', { name: 'Show all books' }).click()
    await page.link('Something else').waitFor()
  })

  it('prints what it has read, says which books these are, and prints no buttons', async () => {
    const shown = () =>
      page.evaluate(`[...document.querySelectorAll('button, a, dialog, .notice')]
        .filter((element) => element.checkVisibility() && !element.closest('.row')).map((element) => element.textContent)`)
    await page.choose('Statistics', 'Top authors')
    await page.box('Volume 0').click()
    await page.button('Clear').waitFor()
    await page.evaluate(`dispatchEvent(new Event('beforeprint'))`)
    await page.emulateMedia({ media: 'print' })
    await page.shows('Books 1 to 100 of 250. To get all of them')
    assert.equal((await page.titles()).length, 100)
    assert.deepEqual(await shown(), ['Title', 'Author', 'Year'])
    await page.emulateMedia({ media: null })
    await page.evaluate(`dispatchEvent(new Event('afterprint'))`)
    assert.ok((await page.titles()).length < 60)
    const pages = (await page.pdf({ format: 'A4' })).toString('latin1').match(/\/Type \/Page\b/g) ?? []
    assert.ok(pages.length > 1, `${pages.length} pages`)
    // Also those that have not been in sight, when it is asked to print.
    for (const print of [() => page.keys('Control+p'), () => page.chooseInMenu('Print…')]) {
      await page.list(`${service.url}/?sort=title&author=Series`, 'Volume 0')
      await page.evaluate(`globalThis.print = () => {
        dispatchEvent(new Event('beforeprint'))
        globalThis.printed = document.querySelectorAll('.row').length
        dispatchEvent(new Event('afterprint'))
      }`)
      await print()
      await page.waitUntil('globalThis.printed >= 250')
    }
  })

  it('shows long titles and authors, and two versions of them, no wider than the window', async () => {
    const id = await service.createBook({ title: 'W'.repeat(500), author: 'X'.repeat(480), year: 1719 })
    await page.goto(`${service.url}/?q=w&author=${'X'.repeat(480)}`)
    for (const width of [320, 1100]) {
      await page.setViewportSize({ width, height: 256 })
      await page.locator('.row .title a').click()
      await page.fillIn({ Title: `${LONG}${'unbroken'.repeat(60)}` })
      await service.updateBook(id, { year: width })
      await page.choose('Save', 'Someone else has changed this book')
      for (const selector of ['html', '#editor']) await page.assertFits(selector)
      for (const name of ['Use saved version', 'Overwrite with mine', 'Cancel'])
        await page.button(name).scrollIntoViewIfNeeded()
      await page.button('Use saved version').click()
      await page.cancel()
    }
    await page.addBook({ Title: 'W'.repeat(500) })
    await page.field('Author').focus()
    await page.getByRole('link', { name: /^W+…, X+…, 1100$/ }).waitFor()
    await page.assertFits('#editor')
  })
})
