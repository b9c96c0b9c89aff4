import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import {
  assertAccessible,
  button,
  chooseInMenu,
  field,
  holdResponse,
  keepNotices,
  link,
  logInOn,
  openPage,
  page,
  screenshot,
  stopClock,
  titles,
  usePage,
  waitForTitles,
} from './page.ts'

/** More than the page reads at once, so that it has to count them. */
const SERIES = 250

const LONG = 'Robinson Crusoe, of York, Mariner; '.repeat(15).slice(0, 500)

describe('what the web page says', { skip: browserMissing }, () => {
  const service = useService((service) =>
    service.importBooks(
      Array.from({ length: SERIES }, (_, i) => ({ title: `Volume ${i}`, author: 'Series', year: 2000 })),
    ),
  )
  const headers = () => ({ authorization: service.token })
  const browser = usePage(
    () => `${service.url}/?q=volume`,
    () => page.getByText('250 books').waitFor(),
  )

  const search = (text: string) => page.getByLabel('Search').fill(text)
  const count = (text: string) => page.locator('.count', { hasText: new RegExp(`^${text}$`) }).waitFor()
  const closed = () => page.getByRole('dialog').waitFor({ state: 'hidden' })

  async function add(title: string, author = 'A', year = 1900): Promise<string> {
    return `${service.url}/book/${await service.createBook({ title, author, year })}`
  }

  async function remove(url: string): Promise<void> {
    assert.equal((await fetch(url, { method: 'DELETE', headers: headers() })).status, 200)
  }

  async function read(url: string): Promise<{ title: string; author: string; year: number }> {
    const { data } = (await (await fetch(url, { headers: headers() })).json()) as {
      data: { title: string; author: string; year: number }
    }
    return data
  }

  async function edit(title: string, changes: Record<string, string>): Promise<void> {
    await link(title).click()
    for (const [label, text] of Object.entries(changes)) await field(label).fill(text)
    await button('Save').click()
  }

  it('counts the books after a deletion, after it was undone and after it was done, in the charts too', async () => {
    const url = await add('Volume 1000', 'Series', 2000)
    await search('volume ')
    await count('251 books')
    await page.getByRole('button', { name: 'Statistics' }).click()
    await button('Series 251 books').waitFor()
    await stopClock(page)
    const remove = async () => {
      await link('Volume 0').click()
      await button('Delete').click()
      await closed()
      await page.clock.runFor(600)
      await count('250 books')
    }
    await remove()
    await button('Undo').click()
    await page.clock.runFor(600)
    await count('251 books')
    await remove()
    await page.clock.runFor(6000)
    await button('Undo').waitFor({ state: 'hidden' })
    await button('Series 250 books').waitFor()
    await page.clock.runFor(600)
    await count('250 books')
    assert.equal((await fetch(url, { method: 'DELETE', headers: headers() })).status, 200)
    await service.createBook({ title: 'Volume 0', author: 'Series', year: 2000 })
  })

  it('says that books are loaded when a search takes long, and what became of it after a 503', async () => {
    const [answered, back] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let isFirst = true
    await page.route(/books\?q=rare/, async (route) => {
      if (!isFirst) return back.promise.then(() => route.continue())
      isFirst = false
      await answered.promise
      await route.fulfill({ status: 503, json: { status: 503, message: 'Service unavailable', data: null } })
    })
    await search('rare')
    await page.getByText('Loading…').waitFor()
    await page.locator('.rows[aria-busy=true]').waitFor()
    await assertAccessible(page, 'loading')
    answered.resolve()
    await page.getByText('The service is busy').waitFor()
    assert.deepEqual(await titles(page), [])
    await assertAccessible(page)
    await button('Retry now').click()
    // It stays in sight until there is a response, whatever else is drawn anew.
    await page.setViewportSize({ width: 1000, height: 800 })
    await page.waitForTimeout(300)
    assert.equal(await page.getByText('The service is busy').isVisible(), true)
    back.resolve()
    await page.getByText('No books found').waitFor()
    await page.getByText('Loading…').waitFor({ state: 'hidden' })
  })

  it('says that a search may miss books while they are made searchable', async () => {
    let isIncomplete = true
    await page.route(/books\?q=volume/, async (route) => {
      const response = await route.fetch()
      const headers = response.headers()
      await route.fulfill({
        response,
        headers: isIncomplete ? { ...headers, 'x-search-index': 'incomplete' } : headers,
      })
    })
    await search('volume 1')
    await page.getByText('New books are still being indexed').waitFor()
    await assertAccessible(page)
    isIncomplete = false
    await button('Search again').click()
    await page.getByText('New books are still being indexed').waitFor({ state: 'hidden' })
    isIncomplete = true
    await search('volume nothing')
    await page.getByText('No books found yet').waitFor()
    await assertAccessible(page)
    isIncomplete = false
    await button('Search again').click()
    await page.getByText('Check the spelling').waitFor()
  })

  it('says that it is counting, and that it is opening a book, if that takes long', async () => {
    const counted = await holdResponse(page, 'GET', /count=true/)
    await search('vol')
    await page.getByText('Counting…').waitFor()
    await counted.release()
    await count('250 books')
    const read = await holdResponse(page, 'GET', /\/book\/\d+$/)
    await link('Volume 2').click()
    await page.getByText('Opening book…').waitFor()
    await assertAccessible(page)
    await read.release()
    await field('Title').waitFor()
    await page.getByText('Opening book…').waitFor({ state: 'hidden' })
  })

  it('says that a book is gone, and not afterwards that it is being opened', async () => {
    const url = await add('Volume gone')
    await search('volume gone')
    await link('Volume gone').waitFor()
    await remove(url)
    await stopClock(page)
    await link('Volume gone').click()
    await page.getByText('Book not found.').waitFor()
    await page.clock.runFor(1000)
    assert.equal(await page.getByText('Opening book…').count(), 0)
  })

  for (const [typed, year] of [
    ['500 BC', '-500'],
    ['1,900', '1900'],
  ] as const)
    it(`reads “${typed}” as the year ${year}`, async () => {
      await page.getByLabel('From year').fill(typed)
      await page.waitForURL((url) => url.searchParams.get('year_min') === year)
      assert.equal(await page.getByText('is not a year').count(), 0)
      const url = await add('Undated', 'A', 1)
      try {
        await page.goto(`${service.url}/?q=undated`)
        await edit('Undated', { Year: typed })
        await page.getByText('Saved “Undated”.').waitFor()
        assert.equal((await read(url)).year, Number(year))
        await page.locator('.row .year', { hasText: year.replace(/^-(.*)/, '$1 BC') }).waitFor()
      } finally {
        await remove(url)
      }
    })

  it('writes years before our era as people do, also where they are edited and compared', async () => {
    const url = await add('Ancient', 'Oldest', -480)
    try {
      await page.goto(`${service.url}/?author=Oldest`)
      await page.getByRole('button', { name: 'Statistics' }).click()
      await button('480 BC: 1 book').waitFor()
      await link('Ancient').click()
      assert.equal(await field('Year').inputValue(), '480 BC')
      await page.keyboard.press('Escape')
      await closed()
      await link('Ancient').click()
      await field('Year').fill('−481')
      await fetch(url, { method: 'PUT', headers: headers(), body: '{"year":-482}' })
      await button('Save').click()
      await page.getByText('Someone else has changed this book').waitFor()
      await page.getByRole('cell', { name: '482 BC', exact: true }).waitFor()
      assert.equal(await page.locator('tr.differs').count(), 1)
      await button('Use saved version').click()
      assert.equal(await field('Year').inputValue(), '482 BC')
    } finally {
      await remove(url)
    }
  })

  it('begins titles and authors of any script at the same edge', async () => {
    const url = await add('أولاد حارتنا', 'نجيب محفوظ', 1959)
    try {
      await page.goto(`${service.url}/?year_min=1959&year_max=1959&q=${encodeURIComponent('أولاد')}`)
      await count('1 book')
      const gaps = (await page.evaluate(`['.title', '.author'].map((name) => {
        const cell = document.querySelector('.row ' + name)
        return cell.querySelector('a').getBoundingClientRect().left - cell.getBoundingClientRect().left
      })`)) as number[]
      assert.deepEqual(gaps, [0, 0])
    } finally {
      await remove(url)
    }
  })

  it('asks for a title; no year is an unknown one', async () => {
    await button('Add book').click()
    await field('Year').fill('1999')
    await button('Save').click()
    await page.getByText('Enter a title.').waitFor()
    assert.equal(await field('Title').evaluate((element) => element.matches(':focus')), true)
    await assertAccessible(page)
    await field('Title').fill('Named')
    await field('Year').fill('')
    await button('Save').click()
    await page.getByText('Added “Named”.').waitFor()
    await page.getByLabel('Search').fill('named')
    await waitForTitles(page, ['Named'])
    assert.equal(await page.locator('.row .year').textContent(), '—')
    await link('Named').click()
    assert.equal(await field('Year').inputValue(), '')
    await button('Delete').click()
    const deleted = page.waitForResponse((response) => response.request().method() === 'DELETE')
    await page.locator('.notice', { hasText: 'Deleted' }).getByRole('button', { name: 'Dismiss' }).click()
    await deleted
  })

  it('asks for a log-in however often Escape is pressed', async () => {
    const other = await openPage(browser(), service.url)
    await other.getByLabel('Username').fill('admin')
    for (let times = 0; times < 5; times++) {
      await other.keyboard.press('Escape')
      await other.waitForTimeout(50)
    }
    assert.equal(await other.getByLabel('Username').inputValue(), 'admin')
    await logInOn(other)
    await other.getByRole('link', { name: 'Volume 2', exact: true }).waitFor()
    await other.context().close()
  })

  for (const [query, title, change] of [
    ['q=prefilter', 'Prefilter', { Title: 'Another' }],
    ['author=Gone', 'Prefilter', { Author: 'Another' }],
    ['year_max=1000', 'Prefilter', { Year: '1001' }],
  ] as const)
    it(`takes a book out of the list that no longer matches ${query}, and says so`, async () => {
      const url = await add('Prefilter', 'Gone', 1000)
      try {
        await page.goto(`${service.url}/?${query}`)
        await waitForTitles(page, [title])
        await edit(title, change)
        await page.getByText('no longer matches your search').waitFor()
        await page.getByText('No books found').waitFor()
        await assertAccessible(page)
      } finally {
        await remove(url)
      }
    })

  it('says that a new book does not match what is searched for', async () => {
    await keepNotices(page)
    await button('Add book').click()
    await field('Title').fill('Something else')
    await field('Year').fill('1')
    await page.keyboard.press('Enter')
    await page.getByText('Added “Something else”. It does not match').waitFor()
    await page.locator('.notice').getByRole('button', { name: 'Show all books' }).click()
    await count('251 books')
    await search('something')
    await waitForTitles(page, ['Something else'])
    await link('Something else').click()
    const deleted = page.waitForResponse((response) => response.request().method() === 'DELETE')
    await button('Delete').click()
    await chooseInMenu(page, 'Log out')
    await deleted
  })

  it('prints what it has read, says which books these are, and prints no buttons', async () => {
    const shown = () =>
      page.evaluate(`[...document.querySelectorAll('button, a, dialog, .notice')]
        .filter((element) => element.checkVisibility() && !element.closest('.row')).map((element) => element.textContent)`)
    await page.evaluate(`dispatchEvent(new Event('beforeprint'))`)
    await page.emulateMedia({ media: 'print' })
    await page.getByText('Books 1 to 100 of 250. To get all of them').waitFor()
    assert.equal((await titles(page)).length, 100)
    assert.deepEqual(await shown(), ['Title', 'Author', 'Year'])
    await assertAccessible(page, 'print')
    await page.evaluate(`document.querySelector('#export').showModal()`)
    assert.equal(await page.locator('#export').isVisible(), false)
    await page.evaluate(`document.querySelector('#export').close()`)
    await page.emulateMedia({ media: null })
    await page.evaluate(`dispatchEvent(new Event('afterprint'))`)
    assert.ok((await titles(page)).length < 60)
    for (let i = 0; i < 600 && !(await titles(page)).includes('Volume 249'); i++) {
      await page.locator('.rows').evaluate((rows) => rows.scrollTo(0, rows.scrollHeight))
      await page.waitForTimeout(60)
    }
    const pdf = await page.pdf({ format: 'A4' })
    const pages = pdf.toString('latin1').match(/\/Type \/Page\b/g) ?? []
    assert.ok(pages.length >= 5, `${pages.length} pages`)
    assert.ok((await titles(page)).length < 60)
  })

  it('tells titles apart that are hard to tell apart, and stores them as they were', async () => {
    const odd = ['Odd\nlines', 'Odd  lines', ' ', '', 'Odd שלום עולם (1)', `Odd ${LONG}`]
    const urls: string[] = []
    for (const title of odd) urls.push(await add(title, 'Oddly', 1234))
    try {
      await page.goto(`${service.url}/?author=Oddly&sort=id`)
      await count('6 books')
      const shown = await page.locator('.row .title').allInnerTexts()
      assert.equal(new Set(shown.map((text) => text.trim())).size, odd.length)
      assert.ok(!shown.some((text) => text.trim() === ''))
      await assertAccessible(page, 'odd-titles')
      for (const [row, title] of odd.entries()) {
        await page.locator('.row .title a').nth(row).click()
        assert.equal(await field('Title').inputValue(), title)
        await field('Year').fill('1235')
        await button('Save').click()
        await closed()
        assert.deepEqual(await read(urls[row] ?? ''), {
          id: (await read(urls[row] ?? ''))['id' as 'title'],
          title,
          author: 'Oddly',
          year: 1235,
        })
      }
      await page.locator('.row .title a').nth(5).click()
      assert.ok(
        await field('Title').evaluate((element) => element.scrollHeight <= element.clientHeight + 2),
        'the whole title is in sight',
      )
      await screenshot(page, 'long-title')
    } finally {
      for (const url of urls) await remove(url)
    }
  })

  it('shows two versions of a long title in a window of any width', async () => {
    const url = await add(LONG, 'Longest', 1719)
    try {
      for (const [width, height] of [
        [320, 256],
        [360, 740],
        [1100, 800],
      ] as const) {
        await page.setViewportSize({ width, height })
        await page.goto(`${service.url}/?author=Longest`)
        await page.locator('.row .title a').click()
        await field('Title').fill(`${LONG}${'unbroken'.repeat(60)}`)
        await fetch(url, { method: 'PUT', headers: headers(), body: `{"year":${width}}` })
        await field('Title').press('Enter')
        await page.getByText('Someone else has changed this book').waitFor()
        await assertAccessible(page, `long-conflict-${width}`)
        const [inner, outer] = (await page
          .getByRole('dialog')
          .evaluate((dialog) => [dialog.scrollWidth, dialog.clientWidth])) as [number, number]
        assert.ok(inner <= outer, `${inner} > ${outer}`)
        for (const name of ['Use saved version', 'Overwrite with mine', 'Cancel'])
          await button(name).scrollIntoViewIfNeeded()
        await button('Use saved version').click()
      }
    } finally {
      await remove(url)
    }
  })

  it('gives notices an edge in the colours of the system', async () => {
    await keepNotices(page)
    await page.emulateMedia({ forcedColors: 'active' })
    await link('Volume 3').click()
    await button('Delete').click()
    await button('Undo').waitFor()
    const [width, colour, background] = (await page.evaluate(`{
      const style = getComputedStyle(document.querySelector('.notice'))
      ;[style.borderTopWidth, style.borderTopColor, style.backgroundColor]
    }`)) as string[]
    assert.equal(width, '1px')
    assert.notEqual(colour, background)
    await screenshot(page, 'forced-colours')
    await button('Undo').click()
  })

  it('has a link to a book, in its dialog and in the address, that opens it in another tab', async () => {
    await link('Volume 7').click()
    const toBook = page.getByRole('link', { name: 'Link to this book' })
    await toBook.waitFor()
    const href = await page.evaluate(`document.querySelector('#editor a').href`)
    assert.equal(href, `${service.url}/#book=8`)
    await page.waitForURL(`${service.url}/?q=volume#book=8`)
    const [other] = await Promise.all([page.context().waitForEvent('page'), toBook.click()])
    await other.getByRole('dialog').getByLabel('Title').waitFor()
    assert.equal(await other.getByRole('dialog').getByLabel('Title').inputValue(), 'Volume 7')
    await assertAccessible(other)
    await other.keyboard.press('Escape')
    await other.getByRole('dialog').waitFor({ state: 'hidden' })
    await other.waitForURL(`${service.url}/`)
    // Typed into the address bar of a tab that has the page.
    await other.evaluate(`location.hash = '#book=9'`)
    await other.getByRole('dialog').waitFor()
    assert.equal(await other.getByRole('dialog').getByLabel('Title').inputValue(), 'Volume 8')
    await other.keyboard.press('Escape')
    await other.getByRole('dialog').waitFor({ state: 'hidden' })
    await other.evaluate(`location.hash = '#book=999999'`)
    await other.getByText('Book not found').waitFor()
    await button('Cancel').click()
    await closed()
    await page.waitForURL(`${service.url}/?q=volume`)
  })
})
