import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import {
  assertAccessible,
  button,
  field,
  holdResponse,
  KEPT,
  keepNotices,
  link,
  page,
  titles,
  usePage,
  waitForTitles,
} from './page.ts'

/** More than the page keeps in memory around what is in sight. */
const SERIES = 2400

describe('books that are selected on the web page', { skip: browserMissing }, () => {
  const service = useService((service) =>
    service.importBooks([
      ...Array.from({ length: SERIES }, (_, i) => ({ title: `Volume ${i}`, author: 'Series', year: 2000 })),
      ...Array.from({ length: 30 }, (_, i) => ({ title: `Part ${i}`, author: '=Parts, "all"', year: 1900 })),
    ]),
  )
  usePage(
    () => `${service.url}/?q=part`,
    () => waitForTitles(page, ['Part 0']),
  )

  const headers = () => ({ authorization: service.token })
  const box = (title: string) => page.getByRole('checkbox', { name: `Select “${title}”`, exact: true })
  const count = (text: string) =>
    page.locator('.selection [role=status]', { hasText: new RegExp(`^${text}$`) }).waitFor()

  async function read(query: string): Promise<{ id: number; title: string; author: string; year: number }[]> {
    const response = await fetch(`${service.url}/books?${query}`, { headers: headers() })
    return (
      (await response.json()) as { data: { id: number; title: string; author: string; year: number }[] }
    ).data
  }

  async function change(title: string, body: object): Promise<void> {
    const [book] = await read(`title=${title}`)
    const options = { method: 'PUT', headers: headers(), body: JSON.stringify(body) }
    assert.equal((await fetch(`${service.url}/book/${book?.id}`, options)).status, 200)
  }

  it('are chosen one by one, and with Shift up to another one', async () => {
    await box('Part 2').click()
    await count('1 selected')
    assert.equal(await page.getByRole('dialog').count(), 0)
    await box('Part 6').click({ modifiers: ['Shift'] })
    await count('5 selected')
    await box('Part 4').click()
    await count('4 selected')
    assert.deepEqual(await page.locator('.row[aria-selected=true] .title').allInnerTexts(), [
      'Part 2',
      'Part 3',
      'Part 5',
      'Part 6',
    ])
    await assertAccessible(page, 'selection')
    await button('Clear').click()
    await box('Part 6').and(page.locator(':not(:checked)')).waitFor()
    assert.equal(await page.locator('.selection button').count(), 0)
  })

  it('are chosen with the keyboard alone, without the loss of the focus', async () => {
    await link('Part 1').focus()
    await page.keyboard.press('Home')
    await page.keyboard.press('Space')
    await count('1 selected')
    assert.equal(await box('Part 1').evaluate((element) => element.matches(':focus:checked')), true)
    await page.keyboard.press('Shift+ArrowDown')
    await page.keyboard.press('Shift+ArrowDown')
    await count('3 selected')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('End')
    await page.keyboard.press('Space')
    await count('4 selected')
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Shift+Space')
    await count('3 selected')
    await page.keyboard.press('Control+a')
    await count('30 selected')
    await page.keyboard.press('Tab')
    assert.equal(await button('Edit…').evaluate((element) => element.matches(':focus')), true)
    for (let times = 0; times < 3; times++) await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await button('Clear').waitFor({ state: 'hidden' })
    assert.equal(await page.evaluate(`document.activeElement.closest('[role=grid]') !== null`), true)
    await page.keyboard.press('Control+Home')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('Space')
    await count('30 selected')
  })

  it('can be all that are listed, also those that are not loaded, and are forgotten with another search', async () => {
    await page.getByLabel('Search').fill('volume')
    await page.getByText('2,400 books', { exact: true }).waitFor()
    await box('Volume 0').click()
    await button('Select all 2,400').click()
    await count('2,400 selected')
    assert.equal(await page.getByRole('checkbox', { name: 'Select all' }).isChecked(), true)
    await assertAccessible(page)
    await page.getByLabel('Search').fill('volume 7')
    await page.getByText('2,400 selected').waitFor({ state: 'hidden' })
    await waitForTitles(page, ['Volume 7'])
    await box('Volume 7').click()
    await count('1 selected')
    await page.goBack()
    await page.getByText('1 selected').waitFor({ state: 'hidden' })
  })

  it('are none of an earlier search, even if they are read only after another one was typed', async () => {
    await page.getByLabel('Search').fill('volume 2')
    await page.getByText('511 books', { exact: true }).waitFor()
    const second = await holdResponse(page, 'GET', /q=volume.2.*after=/)
    await page.getByRole('checkbox', { name: 'Select all' }).click()
    await second.answered
    const part = await holdResponse(page, 'GET', /q=part/)
    await page.getByLabel('Search').fill('part')
    await part.answered
    const last = page.waitForResponse(
      (response) => /q=volume.2.*after=/.test(response.url()) && response.headers().link === undefined,
    )
    await second.release()
    await last
    await part.release()
    await waitForTitles(page, ['Part 0'])
    assert.equal(await page.locator('.selection button').count(), 0)
  })

  for (const [what, viewport, colorScheme, most] of [
    ['a phone', { width: 360, height: 740 }, 'light', 105],
    ['a low window', { width: 320, height: 256 }, 'light', 75],
    ['a dark window', { width: 1100, height: 800 }, 'dark', 60],
  ] as const)
    it(`take little space, in ${what}`, async () => {
      await page.setViewportSize(viewport)
      await page.emulateMedia({ colorScheme })
      await box('Part 1').click()
      await count('1 selected')
      const { height } = (await page.locator('.selection').boundingBox()) ?? { height: Number.NaN }
      assert.ok(height <= most, `${height} pixels`)
      assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'))
      await assertAccessible(page, `selection-${viewport.width}-${colorScheme}`)
      await button('Edit…').click()
      await button('Save 1 book').waitFor()
      await assertAccessible(page, `selection-edit-${viewport.width}-${colorScheme}`)
    })

  it('are a range that begins at the row with the focus, and never in the list before', async () => {
    await box('Part 1').click()
    await link('Part 3').focus()
    await page.keyboard.press('Shift+ArrowDown')
    // Without Part 2, which is between the row that was chosen last and the focus.
    await count('3 selected')
    await page.getByLabel('Search').fill('volume 7')
    await waitForTitles(page, ['Volume 7'])
    await box('Volume 7').waitFor()
    await page
      .locator('.row input')
      .nth(8)
      .click({ modifiers: ['Shift'] })
    await count('1 selected')
  })

  it('are deleted some seconds later, unless this is undone', async () => {
    await page.clock.install()
    await keepNotices(page)
    await box('Part 0').click()
    await box('Part 2').click({ modifiers: ['Shift'] })
    await button('Delete').click()
    await page.getByText('Deleted 3 books.').waitFor()
    await waitForTitles(page, ['Part 3'])
    await assertAccessible(page)
    await button('Undo').click()
    await waitForTitles(page, ['Part 0'])
    await count('3 selected')
    await page.clock.runFor(2 * KEPT)
    assert.equal((await read('q=part')).length, 30)
  })

  it('are deleted and come back, also those that the page no longer has in memory', async () => {
    await keepNotices(page)
    await page.getByLabel('Search').fill('')
    await page.getByLabel('Sort by').selectOption('Oldest added')
    await page.getByText('2,430 books', { exact: true }).waitFor()
    await box('Volume 0').click()
    await page.keyboard.press('Control+End')
    await box('Part 29').waitFor()
    await box('Part 14').click({ modifiers: ['Shift'] })
    await count('2,415 selected')
    await button('Delete').click()
    await waitForTitles(page, ['Part 15'])
    await page.getByText('15 books', { exact: true }).waitFor()
    await button('Undo').click()
    await count('2,415 selected')
    await page.getByText('2,430 books', { exact: true }).waitFor()
    await page.keyboard.press('Control+Home')
    await waitForTitles(page, ['Volume 0'])
    assert.equal(await page.getByRole('grid').getAttribute('aria-rowcount'), '2431')
  })

  it('are deleted, except those that somebody has changed', async () => {
    for (const year of [1, 2, 3]) await service.createBook({ title: `Gone ${year}`, author: 'A', year })
    await page.getByLabel('Search').fill('gone')
    await waitForTitles(page, ['Gone 1'])
    await page.clock.install()
    await keepNotices(page)
    await page.getByRole('checkbox', { name: 'Select all' }).click()
    await button('Delete').click()
    await page.getByText('No books found').waitFor()
    await change('Gone 2', { year: 5 })
    await page.clock.fastForward(KEPT)
    await page.getByText('Deleted 2 books. Kept 1 book that someone else has changed.').waitFor()
    await page.clock.fastForward(400)
    assert.equal(await page.getByText('Deleting 3 books…').count(), 0)
    // The page may be closed now.
    assert.ok(await page.evaluate(`dispatchEvent(new Event('beforeunload', { cancelable: true }))`))
    await assertAccessible(page)
    await waitForTitles(page, ['Gone 2'])
    // The selection had the version from before.
    assert.equal(await box('Gone 2').isChecked(), false)
    assert.deepEqual(
      (await read('q=gone')).map(({ title }) => title),
      ['Gone 2'],
    )
  })

  for (const [what, script, reads] of [
    ['with one request each', '', 0],
    // As those of addresses without HTTPS.
    [
      'also where the page has no digests',
      "Object.defineProperty(Crypto.prototype, 'subtle', { value: undefined })",
      4,
    ],
  ] as const)
    it(`are deleted ${what}`, async () => {
      for (const title of ['Each', 'Each “ÿ>>???”', 'Each 漢字', 'Each\nlast'])
        await service.createBook({ title, author: 'Ünique', year: -5 })
      await page.addInitScript(script)
      await page.goto(`${service.url}/?q=each`)
      await waitForTitles(page, ['Each'])
      const requests: string[] = []
      page.on('request', (request) => {
        if (/\/book\/\d+$/.test(request.url())) requests.push(request.method())
      })
      await page.clock.install()
      await keepNotices(page)
      await page.getByRole('checkbox', { name: 'Select all' }).click()
      await button('Delete').click()
      await page.getByText('No books found').waitFor()
      await page.clock.fastForward(KEPT)
      for (let left = 4; left > 0; await page.waitForTimeout(30)) left = (await read('q=each')).length
      assert.deepEqual(requests.toSorted(), [...Array(4).fill('DELETE'), ...Array(reads).fill('GET')])
    })

  for (const [what, deleted] of [
    ['deleted', 'Deleted 1 book. 1 book was already deleted.'],
    ['saved', 'Saved 1 book. 1 book was already deleted.'],
  ] as const)
    it(`leave the list if they are deleted elsewhere before they are ${what}`, async () => {
      for (const year of [1, 2])
        await service.createBook({ title: `Left ${what} ${year}`, author: 'A', year })
      await page.goto(`${service.url}/?q=left+${what}`)
      await waitForTitles(page, [`Left ${what} 1`])
      await page.clock.install()
      await keepNotices(page)
      await page.getByRole('checkbox', { name: 'Select all' }).click()
      await count('2 selected')
      const [, second] = await read(`q=left+${what}`)
      if (what === 'deleted') await button('Delete').click()
      else await button('Edit…').click()
      const gone = await fetch(`${service.url}/book/${second?.id}`, { method: 'DELETE', headers: headers() })
      assert.ok(gone.ok)
      if (what === 'saved') {
        await field('Author').fill('B')
        await page.keyboard.press('Enter')
        await page.getByText(deleted).waitFor()
        await button('Close').click()
        await waitForTitles(page, [`Left ${what} 1`])
        assert.equal(await page.locator('.row').count(), 1)
        await button('Clear').waitFor({ state: 'hidden' })
      } else {
        await page.clock.fastForward(KEPT)
        await page.getByText(deleted).waitFor()
        await page.getByText('No books found').waitFor()
        assert.equal(await page.locator('.row').count(), 0)
      }
    })

  it('are no longer counted once one is deleted in its dialog, until that is undone', async () => {
    await box('Part 2').click()
    await box('Part 3').click()
    await count('2 selected')
    await keepNotices(page)
    await page.getByText('Part 2', { exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await count('1 selected')
    await button('Undo').click()
    await count('2 selected')
    assert.equal(await box('Part 2').isChecked(), true)
    await page.getByText('Part 5', { exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await box('Part 5').waitFor({ state: 'detached' })
    await button('Undo').click()
    await box('Part 5').waitFor()
    assert.equal(await box('Part 5').isChecked(), false)
  })

  it('get another author and year, except those that somebody has changed', async () => {
    for (const year of [1, 2, 3]) await service.createBook({ title: `Set ${year}`, author: 'A', year })
    await page.getByLabel('Search').fill('set')
    await waitForTitles(page, ['Set 1'])
    await page.getByRole('checkbox', { name: 'Select all' }).click()
    await count('3 selected')
    await button('Edit…').click()
    const dialog = page.getByRole('dialog')
    await button('Save 3 books').click()
    await page.getByText('Enter an author or a year.').waitFor()
    await dialog.getByLabel('Year').fill('never')
    await button('Save 3 books').click()
    await page.getByText('“never” is not a year').waitFor()
    await assertAccessible(page)
    await dialog.getByLabel('Year').fill('500 BC')
    await change('Set 2', { author: 'B' })
    await button('Save 3 books').click()
    await page.getByText('Saved 2 books. Kept 1 book that someone else has changed.').waitFor()
    await assertAccessible(page)
    await button('Close').click()
    // The selection has the version from before.
    await button('Clear').waitFor({ state: 'hidden' })
    assert.equal(await box('Set 2').isChecked(), false)
    await box('Set 2').click()
    await button('Edit…').click()
    await button('Save 1 book').waitFor()
    assert.deepEqual(
      (await read('q=set')).map(({ author, year }) => [author, year]),
      [
        ['A', -500],
        ['B', 2],
        ['A', -500],
      ],
    )
  })

  for (const [what, method, action] of [
    ['deleted', 'DELETE', 'Delete'],
    ['saved', 'PUT', 'Edit…'],
  ] as const)
    it(`are not ${what} if somebody changes them at the last moment`, async () => {
      const title = `Moment ${method}`
      await service.createBook({ title, author: 'A', year: 1 })
      await page.goto(`${service.url}/?q=moment+${method}`)
      await page.route(/\/book\/\d+$/, async (route) => {
        if (route.request().method() === method) await change(title, { year: 2 })
        await route.continue()
      })
      await page.clock.install()
      await keepNotices(page)
      await box(title).click()
      await button(action).click()
      if (method === 'PUT') {
        await field('Author').fill('B')
        await page.keyboard.press('Enter')
      } else await page.clock.fastForward(KEPT)
      await page.getByText('Kept 1 book that someone else has changed.').waitFor()
      assert.deepEqual(
        (await read(`title=${title.replace(' ', '+')}`)).map(({ author, year }) => [author, year]),
        [['A', 2]],
      )
    })

  it('are saved as a file for spreadsheets, which an import understands', async () => {
    await box('Part 1').click()
    await page.getByText('Part 1', { exact: true }).click()
    await field('Year').fill('1901')
    await page.keyboard.press('Enter')
    await page.getByText('Saved “Part 1”.').waitFor()
    const [download] = await Promise.all([page.waitForEvent('download'), button('Export CSV').click()])
    const text = readFileSync(await download.path(), 'utf8')
    const [book] = await read('title=Part+1')
    assert.equal(
      text,
      `\ufeff"book-catalogue id","title","author","year"\r\n"${book?.id}","Part 1","'=Parts, ""all""","1901"\r\n`,
    )
    const options = { method: 'POST', headers: { ...headers(), 'content-type': 'text/csv' }, body: text }
    const response = await fetch(`${service.url}/books/import?dry_run=true&skip_existing=true`, options)
    assert.equal(((await response.json()) as { data: { skipped: number } }).data.skipped, 1)
    assert.equal((await titles(page)).length > 0, true)
  })

  it('are selected again when their deletion is undone, unless others are listed now', async () => {
    await keepNotices(page)
    await box('Part 0').click()
    await button('Delete').click()
    await page.getByLabel('Search').fill('volume')
    await waitForTitles(page, ['Volume 0'])
    await button('Undo').click()
    await button('Undo').waitFor({ state: 'hidden' })
    assert.equal(await page.locator('.selection button').count(), 0)
  })

  it('are selected again if they could not be deleted', async () => {
    await page.route(/\/book\/\d+$/, (route) =>
      route.fulfill({ status: 409, json: { status: 409, message: 'Failed', data: null } }),
    )
    await page.clock.install()
    await keepNotices(page)
    await box('Part 0').click()
    await box('Part 1').click()
    await button('Delete').click()
    await page.getByText('Deleted 2 books.').waitFor()
    await page.mouse.move(50, 400)
    await page.clock.fastForward(KEPT)
    await page.getByText('2 books left').waitFor()
    await count('2 selected')
    assert.equal(await box('Part 1').isChecked(), true)
  })

  it('do not lose what is typed for them by Escape, however often it is pressed', async () => {
    await box('Part 1').click()
    await button('Edit…').click()
    await field('Author').fill('Half a name')
    for (let times = 0; times < 6; times++) {
      await page.keyboard.press('Escape')
      await page.waitForTimeout(50)
    }
    assert.equal(await field('Author').inputValue(), 'Half a name')
    await page.getByText('Press Cancel to discard what you typed.').waitFor()
    await assertAccessible(page)
    await button('Cancel').click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await button('Edit…').click()
    assert.equal(await page.getByText('Press Cancel to discard').count(), 0)
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
  })

  it('get only the author and year that the dialog shows', async () => {
    await box('Part 1').click()
    const author = field('Author')
    await button('Edit…').click()
    await author.fill('Typed')
    await button('Cancel').click()
    await button('Edit…').click()
    assert.equal(await author.inputValue(), '')
    await author.fill('Kept')
    await field('Year').fill('never')
    await button('Save 1 book').click()
    await page.getByText('“never” is not a year').waitFor()
    assert.equal(await author.inputValue(), 'Kept')
  })

  it('keep the page from being closed before they are deleted', async () => {
    await service.createBook({ title: 'Closing', author: 'A', year: 1 })
    await page.goto(`${service.url}/?q=closing`)
    await keepNotices(page)
    await box('Closing').click()
    await button('Delete').click()
    await button('Undo').waitFor()
    const [asked] = await Promise.all([page.waitForEvent('dialog'), page.close({ runBeforeUnload: true })])
    assert.equal(asked.type(), 'beforeunload')
    await asked.dismiss()
    await button('Undo').click()
    await waitForTitles(page, ['Closing'])
  })
})
