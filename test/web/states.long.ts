import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { openPage, openTab, page, usePage } from './page.ts'

describe('the states of the web page', { skip: browserMissing }, () => {
  const service = useService()
  const browser = usePage(() => service.url)

  it('an empty catalogue says how to begin, and can be tried with the sample books', async () => {
    await page.shows('No books yet')
    await page.choose('Statistics', 'No books to show statistics for.')
    await page.assertAccessible()
    await page.getByRole('main').getByRole('button', { name: 'Add book' }).click()
    await page.field('Title').waitFor()
    await page.escape()
    const other = await openTab(page, service.url)
    await other.shows('No books yet')
    await page.route('**/books/import*', (route) => route.abort(), { times: 1 })
    await page.choose('Load sample books', 'Try again in a moment.')
    await page.button('Load sample books').dblclick()
    await page.shows('Imported 132 books.')
    await page.waitUntil(`document.querySelectorAll('.authors li').length === 8`)
    await other.choose('Load sample books', 'The books that were ready to import are in the catalogue.')
    await page.showsTitles('The Epic of Gilgamesh')
    assert.equal((await service.listBooks('limit=1000')).length, 132)
    await page.button('Undo import').click()
    await page.choose('Delete 132 books', 'No books yet')
  })

  it('a book that somebody has deleted meanwhile can be added again', async () => {
    const id = await service.createBook({ title: 'Beloved', author: 'Toni Morrison', year: 1987 })
    await page.search('beloved')
    await page.box('Beloved').click()
    await page.openBook('Beloved')
    await page.button('Save').waitFor()
    await service.deleteBook(id)
    await page.choose('Save', 'This book was deleted')
    // It is no longer selected.
    await page.button('Clear').waitFor({ state: 'hidden' })
    // Nothing was typed, but it is the only copy now.
    await page.route('**/book', (route) => route.abort(), { times: 1 })
    await page.choose('Add as new book', 'Try again in a moment.')
    await page.keys('Escape')
    await page.button('Keep editing').click()
    await page.choose('Save', 'Added “Beloved”.')
    await page.showsTitles('Beloved')
  })

  it('books that cannot be counted, and no author, or one that the service has cut, to whom no bar leads', async () => {
    await page.route('**/books/statistics*', (route) => route.abort(), { times: 1 })
    await page.choose('Statistics', 'Statistics are not available right now.')
    await page.locator('.authors').waitFor()
    await page.hides('Statistics are not available right now.')
    await page.reload()
    await page.refuse(/statistics/, 400, 1)
    await page.choose('Statistics', 'Statistics are not available right now.')
    await page.button('Statistics').click()
    await page.button('Statistics').click()
    await page.locator('.authors').waitFor()
    const author = 'Cut '.repeat(126).trim()
    await service.createBook({ title: 'Cut', author, year: 1 })
    await service.createBook({ title: 'Cut', author: '', year: 1 })
    await page.goto(`${service.url}/?q=cut`)
    await page.button('Statistics').click()
    await page.locator('.authors', { hasText: '(no author)' }).waitFor()
    assert.equal(await page.locator('.authors button').count(), 0)
    // Nor does a row, with an address that would be too long.
    assert.equal(await page.locator('.row .author a').count(), 0)
  })

  it('a part of the page that cannot be loaded', async () => {
    const other = await openPage(browser(), 'about:blank')
    await other.route('**/transfer.js', (route) => route.abort())
    await other.goto(service.url)
    await other.logIn()
    await other.chooseInMenu('Import…')
    await other.shows('Part of this page could not be loaded.')
  })

  it('decades far from the others share a bar; a book of an unknown year is none of them', async () => {
    for (const year of [-500, 1700, 1701, 1912, 1919, 1995, 9000, 0])
      await service.createBook({ title: `Of ${year}`, author: 'Decades', year })
    await page.goto(`${service.url}/?author=Decades&sort=id`)
    await page.button('Statistics').click()
    const bars = page.locator('.decades')
    await bars.waitFor()
    const names = [
      'Until 1 BC: 1 book',
      '1–1909: 2 books',
      '1910: 2 books',
      '1990: 1 book',
      'From 2000: 1 book',
    ]
    assert.deepEqual(
      await bars.getByRole('button').evaluateAll((all) => all.map((each) => each.getAttribute('aria-label'))),
      names,
    )
    assert.deepEqual(
      await bars.getByRole('button').evaluateAll((all) => all.map((each) => each.style.cssText)),
      ['--part: 0.5;', '--part: 1;', '--part: 1;', '--part: 0.5;', '--part: 0.5;'],
    )
    // Between 1910 and 1990, the empty decades have their places.
    assert.equal(await bars.locator('li').count(), 2 + 9 + 1)
    // Tab leads to one bar, the arrows to the others.
    const focused = () => page.evaluate('document.activeElement.getAttribute("aria-label")')
    await page.button('Statistics').focus()
    // Also from those of the authors.
    await page.keys('Tab', 'Tab', 'Tab', 'Tab', 'Shift+Tab')
    assert.equal(await focused(), 'From 2000: 1 book')
    for (const name of names.slice(0, -1).toReversed()) {
      await page.keys('ArrowLeft')
      assert.equal(await focused(), name)
    }
    await page.keys('Enter')
    await page.showsTitles('Of -500')
    await page.getByLabel('To year').fill('')
    await page.button('1910: 2 books').click()
    await page.waitForURL(/year_min=1910&year_max=1919/)
    for (const label of ['From year', 'To year']) await page.getByLabel(label).fill('')
    await page.button('Unknown year: 1 book').click()
    await page.button('Years: unknown year, clear this filter').waitFor()
    await page.showsTitles('Of 0')
    await page.setViewportSize({ width: 360, height: 740 })
    await page.assertAccessible('charts-360')
    await page.button('Clear all').click()
    await page.link('Beloved').waitFor()
  })

  const LATEST = Number.MAX_SAFE_INTEGER

  for (const [what, years, filter, names] of [
    ['around year 0', [-12, -3, 0, 5, 6], '', ['20 BC', '10 BC', '0']],
    [
      'before year 0',
      [-900, -500, -499, -300, 0, 5],
      '',
      ['Until 501 BC', '500 BC', '490 BC–1 BC', 'From 1'],
    ],
    ['that are the last', [1999, LATEST], '', ['1–9007199254740989', '9007199254740990–9007199254741000']],
    [
      'of which the filter has some',
      [1894, 1905, 1914, 1916, 1925],
      '&year_min=1905&year_max=1915',
      ['1900', '1910'],
    ],
  ] as const)
    it(`a bar leads to the books that it counts: decades ${what}`, async () => {
      for (const year of years) await service.createBook({ title: `${year}`, author: what, year })
      await page.goto(`${service.url}/?author=${what}${filter}`)
      const all = await page.locator('.count', { hasText: /\d/ }).textContent()
      const shows = (count: string) => page.locator('.count', { hasText: new RegExp(`^${count}$`) }).waitFor()
      await page.button('Statistics').click()
      const bars = page.locator('.decades').getByRole('button')
      await bars.first().waitFor()
      const labels = await bars.evaluateAll((all) => all.map((each) => each.getAttribute('aria-label') ?? ''))
      for (const label of labels) {
        await page.button(label).click()
        await shows(label.split(': ')[1] ?? '')
        assert.equal(await page.getByText('is not a year').count(), 0)
        await page.goBack()
        await shows(all?.trim() ?? '')
      }
      assert.deepEqual(
        labels.map((label) => label.split(':')[0]),
        names,
      )
    })
})
