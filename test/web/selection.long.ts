import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { page, series, usePage } from './page.ts'
import { KEPT } from './timing.ts'

const BOOK = /\/book\/\d+$/

describe('books that are selected on the web page', { skip: browserMissing }, () => {
  const service = useService((service) =>
    service.importBooks([
      // More than the page keeps in memory around what is in sight.
      ...series(2400),
      ...Array.from({ length: 30 }, (_, i) => ({ title: `Part ${i}`, author: '=Parts, "all"', year: 1900 })),
    ]),
  )
  usePage(() => `${service.url}/?q=part`, 'Part 0')

  const count = (text: string) =>
    page.locator('.selection [role=status]', { hasText: new RegExp(`^${text}$`) }).waitFor()
  const isNothingSelected = async () => assert.equal(await page.locator('.selection button').count(), 0)

  /** Selects these new books, and no others. @returns their ids. */
  async function selectNew(...titles: string[]): Promise<number[]> {
    const ids: number[] = []
    for (const title of titles) ids.push(await service.createBook({ title, author: 'A', year: 1 }))
    await page.goto(`${service.url}/?q=${titles[0]?.split(' ')[0]}`)
    await page.shows(`${titles.length} book`)
    await page.takeClock()
    await page.selectAll()
    await count(`${titles.length} selected`)
    return ids
  }

  it('are chosen one by one, and with Shift up to another one', async () => {
    await page.box('Part 2').click()
    await count('1 selected')
    assert.equal(await page.dialog().count(), 0)
    await page.box('Part 6').click({ modifiers: ['Shift'] })
    await count('5 selected')
    await page.box('Part 4').click()
    await count('4 selected')
    const selected = await page.locator('.row[aria-selected=true] .title').allInnerTexts()
    assert.deepEqual(selected, ['Part 2', 'Part 3', 'Part 5', 'Part 6'])
    await page.sortBy('Oldest added')
    await page.waitForURL(/sort=id/)
    await count('4 selected')
    const listed = page.waitForResponse(/\/books\?/)
    await page.goBack()
    await listed
    await count('4 selected')
    await page.button('Clear').click()
    await page.box('Part 6').and(page.locator(':not(:checked)')).waitFor()
    await isNothingSelected()
    // A range begins at the row with the focus, and never in the list before.
    await page.box('Part 1').click()
    await page.link('Part 3').focus()
    await page.keys('Shift+ArrowDown')
    // Without Part 2, which is between the row that was chosen last and the focus.
    await count('3 selected')
    await page.search('volume 7', 'Volume 7')
    await page.box('Volume 70').click({ modifiers: ['Shift'] })
    await count('1 selected')
    // Also in a low and dark window.
    await page.setViewportSize({ width: 320, height: 256 })
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.assertFits()
    await page.assertAccessible('selection-dark')
  })

  it('are chosen with the keyboard alone, without the loss of the focus', async () => {
    await page.link('Part 1').focus()
    await page.keys('Home', 'Space')
    await count('1 selected')
    assert.ok(await page.box('Part 1').evaluate((element) => element.matches(':focus:checked')))
    await page.keys('Shift+ArrowDown', 'Shift+ArrowDown')
    await count('3 selected')
    await page.keys('ArrowDown', 'End', 'Space')
    await count('4 selected')
    await page.keys('ArrowLeft', 'Shift+Space')
    await count('3 selected')
    await page.keys('Control+a')
    await count('30 selected')
    await page.keys('Tab')
    await page.button('Edit…').and(page.locator(':focus')).waitFor()
    await page.keys('Tab', 'Tab', 'Tab', 'Enter')
    await page.button('Clear').waitFor({ state: 'hidden' })
    assert.ok(await page.evaluate(`document.activeElement.closest('[role=grid]') !== null`))
    await page.keys('Control+Home', 'ArrowUp', 'Space')
    await count('30 selected')
    await page.keys('Space')
    await page.button('Clear').waitFor({ state: 'hidden' })
  })

  it('can be all that are listed, also those that are not loaded, and are forgotten with another search', async () => {
    await page.search('volume')
    await page.showsExactly('2,400 books')
    await page.box('Volume 0').click()
    await page.button('Select all 2,400').click()
    await count('2,400 selected')
    assert.ok(await page.getByRole('checkbox', { name: 'Select all' }).isChecked())
    await page.link('Volume 0').focus()
    await page.keys('Control+a')
    await count('2,400 selected')
    await page.search('volume 7')
    await page.hides('2,400 selected')
    await page.showsTitles('Volume 7')
    await page.box('Volume 7').click()
    await count('1 selected')
    await page.goBack()
    await page.hides('1 selected')
  })

  it('are shown again in their place after they were changed', async () => {
    await page.search('volume')
    await page.showsExactly('2,400 books')
    await page.scrollTo(1000 * 36)
    await page.box('Volume 1000').click()
    await page.button('Edit…').click()
    await page.fillIn({ Author: 'Changed' })
    await page.keys('Enter')
    await page.locator('.row', { hasText: 'Volume 1000' }).getByText('Changed').waitFor()
  })

  it('are none of an earlier search, even if they are read only after another one was typed', async () => {
    await page.search('volume 2')
    await page.showsExactly('511 books')
    const given = await page.hold('GET', /q=volume.2.*after=/, () => page.selectAll())
    // Nobody has to be told that this gives up reading them.
    await page.search('part', 'Part 0')
    await given.release()
    assert.equal(await page.locator('.notice').count(), 0)
    await page.search('volume 2')
    await page.showsExactly('511 books')
    const second = await page.hold('GET', /q=volume.2.*after=/, () => page.selectAll())
    const part = await page.hold('GET', /q=part/, () => page.search('part'))
    await page.box('Volume 2').click()
    const last = page.waitForResponse(
      (response) => /q=volume.2.*after=/.test(response.url()) && response.headers().link === undefined,
    )
    await second.release()
    await last
    await part.release()
    await page.showsTitles('Part 0')
    await isNothingSelected()
  })

  it('come back when their deletion is undone, but are not selected in another list', async () => {
    await selectNew('Undone 1', 'Undone 2', 'Undone 3')
    await page.choose('Delete', 'Deleted 3 books.')
    await page.search('volume', 'Volume 0')
    await page.button('Undo').click()
    await page.button('Undo').waitFor({ state: 'hidden' })
    await isNothingSelected()
    await page.clock.runFor(2 * KEPT)
    assert.equal((await service.listBooks('q=undone')).length, 3)
  })

  it('are deleted and come back, also those that the page no longer has in memory', async () => {
    await page.goto(`${service.url}/?sort=id&year_min=1900&year_max=2000`)
    await page.showsExactly('2,430 books')
    await page.keepNotices()
    await page.box('Volume 0').click()
    await page.keys('Control+End')
    await page.box('Part 29').waitFor()
    await page.box('Part 14').click({ modifiers: ['Shift'] })
    await count('2,415 selected')
    await page.button('Delete').click()
    await page.showsTitles('Part 15')
    await page.showsExactly('15 books')
    await page.button('Undo').click()
    await count('2,415 selected')
    await page.showsExactly('2,430 books')
    await page.keys('Control+Home')
    await page.showsTitles('Volume 0')
    assert.equal(await page.getByRole('grid').getAttribute('aria-rowcount'), '2431')
  })

  for (const [done, save] of [
    ['Deleted', false],
    ['Saved', true],
  ] as const)
    it(`are ${done.toLowerCase()}, except those that somebody has changed or deleted meanwhile`, async () => {
      const titles = [1, 2, 3, 4].map((i) => `${done} ${i}`)
      const [first = 0, second = 0, third = 0, fourth = 0] = await selectNew(...titles)
      await page.button(save ? 'Edit…' : 'Delete').click()
      await service.updateBook(second, { year: 2 })
      await service.deleteBook(third)
      if (save) {
        await page.fillIn({ Author: 'B', Year: '500 BC' })
        await page.keys('Enter')
      } else {
        const held = await page.hold('DELETE', BOOK, () => page.clock.fastForward(KEPT))
        await page.clock.fastForward(400)
        await page.shows('Deleting 4 books…')
        await held.release()
      }
      await page.shows(
        `${done} 2 books. Kept 1 book that someone else has changed. 1 book was already deleted.`,
      )
      assert.equal(await page.getByText('Deleting').count(), 0)
      await page.assertAccessible()
      // The page may be closed now.
      assert.ok(await page.evaluate(`dispatchEvent(new Event('beforeunload', { cancelable: true }))`))
      if (save) await page.button('Close').click()
      // The selection had the version from before.
      await page.button('Clear').waitFor({ state: 'hidden' })
      const saved = (id: number) => [id, 'B', -500]
      const left = await service.listBooks(`q=${done}`)
      assert.deepEqual(
        left.map(({ id, author, year }) => [id, author, year]),
        save ? [saved(first), [second, 'A', 2], saved(fourth)] : [[second, 'A', 2]],
      )
      await page.showsTitles(...left.map(({ title }) => title))
      assert.equal(await page.locator('.row').count(), left.length)
      await page.locator('.row .year', { hasText: /^2$/ }).waitFor()
    })

  for (const [done, save] of [
    ['Deleted', false],
    ['Saved', true],
  ] as const)
    it(`can be stopped from being ${done.toLowerCase()}, and those that are left stay selected`, async () => {
      // Two more than are worked on at the same time.
      await selectNew(...Array.from({ length: 8 }, (_, i) => `Stop${done} ${i}`))
      const released = Promise.withResolvers<void>()
      await page.route(BOOK, (route) => released.promise.then(() => route.continue()))
      await page.button(save ? 'Edit…' : 'Delete').click()
      if (save) {
        // An unknown one.
        await page.fillIn({ Year: '0' })
        await page.keys('Enter', 'Escape')
      } else await page.clock.fastForward(KEPT)
      await page.button('Stop').click()
      released.resolve()
      await page.shows(`${done} 6 books. Stopped: 2 books left.`)
      await count('2 selected')
    })

  it('are no longer counted once one is deleted in its dialog, until that is undone', async () => {
    await page.box('Part 2').click()
    await page.box('Part 3').click()
    await count('2 selected')
    await page.keepNotices()
    for (const [title, isSelected] of [
      ['Part 2', true],
      ['Part 5', false],
    ] as const) {
      await page.deleteBook(title)
      await page.box(title).waitFor({ state: 'detached' })
      await count(isSelected ? '1 selected' : '2 selected')
      await page.button('Undo').click()
      await page.box(title).waitFor()
      await count('2 selected')
      assert.equal(await page.box(title).isChecked(), isSelected)
    }
    // A range begins at the book that was chosen, even if its row is another since.
    await page.deleteBook('Part 2')
    await page.box('Part 5').click()
    await page.button('Undo').click()
    await page.box('Part 2').waitFor()
    await page.box('Part 7').click({ modifiers: ['Shift'] })
    await count('5 selected')
    assert.equal(await page.box('Part 4').isChecked(), false)
  })

  it('keep the page from being closed before they are deleted, and are selected again if they could not be', async () => {
    // As many as are worked on at the same time: after an error, no others are.
    await page.refuse(BOOK, 409, 6)
    await page.takeClock()
    await page.box('Part 0').click()
    await page.box('Part 7').click({ modifiers: ['Shift'] })
    await page.choose('Delete', 'Deleted 8 books.')
    const [asked] = await Promise.all([page.waitForEvent('dialog'), page.close({ runBeforeUnload: true })])
    assert.equal(asked.type(), 'beforeunload')
    await asked.dismiss()
    await page.mouse.move(50, 400)
    await page.clock.fastForward(KEPT)
    await page.shows('Deleted 0 books. Refused by the test: 8 books left.')
    await page.clock.fastForward(400)
    assert.equal(await page.getByText('Deleting').count(), 0)
    await count('8 selected')
    assert.ok(await page.box('Part 1').isChecked())
  })

  it('stay as they are if the password is not given, which is asked for once', async () => {
    await page.box('Part 3').click()
    await page.button('Edit…').click()
    await page.fillIn({ Author: 'Changed' })
    await page.refuse(/\/books?[/?]/, 401)
    await page.choose('Save 1 book', 'Your changes are kept')
    const lists: string[] = []
    page.on('request', (request) => lists.push(...(/\/books\?.*/.exec(request.url()) ?? [])))
    await page.keys('Escape')
    await page.shows('1 book left.')
    await page.evaluate(`fetch('/healthz').then((response) => response.text())`)
    assert.deepEqual(lists, [])
    await count('1 selected')
  })

  it('are saved as a file for spreadsheets, as they are now', async () => {
    await page.box('Part 1').click()
    await page.openBook('Part 1', { Year: '1901' })
    await page.keys('Enter')
    await page.shows('Saved “Part 1”.')
    const [download] = await Promise.all([page.waitForEvent('download'), page.button('Export CSV').click()])
    const text = readFileSync(await download.path(), 'utf8')
    const [book] = await service.listBooks('title=Part+1')
    const row = `"${book?.id}","Part 1","'=Parts, ""all""","1901"`
    assert.equal(text, `\ufeff"book-catalogue id","title","author","year"\r\n${row}\r\n`)
    // What is typed for them is not lost by Escape, and they get only what the dialog shows.
    await page.button('Edit…').click()
    await page.choose('Save 1 book', 'Enter an author or a year.')
    await page.fillIn({ Author: 'Half a name' })
    for (let times = 0; times < 6; times++) await page.keys('Escape')
    assert.equal(await page.field('Author').inputValue(), 'Half a name')
    await page.shows('Press Cancel to discard what you typed.')
    assert.ok(!(await page.evaluate(`dispatchEvent(new Event('beforeunload', { cancelable: true }))`)))
    await page.assertAccessible()
    await page.cancel()
    await page.button('Edit…').click()
    assert.equal(await page.field('Author').inputValue(), '')
    await page.fillIn({ Author: 'Kept', Year: 'never' })
    await page.choose('Save 1 book', '“never” is not a year')
    assert.equal(await page.field('Author').inputValue(), 'Kept')
  })
})
