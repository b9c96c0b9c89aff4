import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import {
  assertAccessible,
  button,
  chooseInMenu,
  enterPassword,
  field,
  holdResponse,
  importButton,
  link,
  logInOn,
  openPage,
  page,
  usePage,
  waitForTitles,
} from './page.ts'

const BOOK = /\/book\/\d+$/

describe('a response that reaches the web page late', { skip: browserMissing }, () => {
  const service = useService()
  const browser = usePage(
    () => service.url,
    () => waitForTitles(page, ['Sula', 'Kindred']),
  )
  let sula: number

  before(async () => {
    sula = await service.createBook({ title: 'Sula', author: 'Toni Morrison', year: 1973 })
    await service.createBook({ title: 'Kindred', author: 'Octavia E. Butler', year: 1979 })
  })

  async function discard(): Promise<void> {
    await button('Cancel').click()
    await page.locator('form').getByRole('button', { name: 'Discard' }).click()
  }

  /** Changes Sula, whose save is answered only when the test says so, and closes the dialog meanwhile. */
  async function saveAndCancel(year: string) {
    await link('Sula').click()
    await field('Year').fill(year)
    const held = await holdResponse(page, 'PUT', BOOK)
    await button('Save').click()
    await held.answered
    await button('Cancel').click()
    return held
  }

  /** Answers the first request that matches with 401, once a promise is fulfilled. */
  async function refuseToken(pattern: RegExp, when = Promise.resolve()): Promise<void> {
    let isFirst = true
    await page.route(pattern, async (route) => {
      if (!isFirst) return route.fallback()
      isFirst = false
      await when
      await route.fulfill({ status: 401, json: { status: 401, message: 'Invalid token', data: null } })
    })
  }

  async function type(title: string): Promise<void> {
    await button('Add book').click()
    await field('Title').fill(title)
  }

  it('does not replace what is typed by a book that was chosen before', async () => {
    const held = await holdResponse(page, 'GET', BOOK)
    await link('Sula').click()
    await held.answered
    await type('Half a ti')
    await held.release()
    assert.equal(await field('Title').inputValue(), 'Half a ti')
    await page.getByRole('heading', { name: 'Add book' }).waitFor()
  })

  it('shows no duplicate of a title that was typed before', async () => {
    const held = await holdResponse(page, 'GET', /books\?q=Sula&/)
    await type('Sula')
    await field('Author').focus()
    await held.answered
    await field('Title').fill('Sula, annotated')
    await held.release()
    assert.equal(await page.getByText('Already in the catalogue').count(), 0)
    await field('Author').focus()
    await field('Title').fill('Sula')
    await field('Author').focus()
    await page.getByText('Already in the catalogue').waitFor()
  })

  it('does not replace the book that was chosen last', async () => {
    const held = await holdResponse(page, 'GET', BOOK)
    await link('Sula').click()
    await held.answered
    await link('Kindred').click()
    await field('Author').fill('O. E. Butler')
    await held.release()
    assert.equal(await field('Title').inputValue(), 'Kindred')
    assert.equal(await field('Author').inputValue(), 'O. E. Butler')
  })

  for (const [what, act] of [
    ['Escape was pressed', () => page.keyboard.press('Escape')],
    ['something was searched for', () => page.getByLabel('Search').fill('kin')],
  ] as const)
    it(`opens no dialog after ${what}`, async () => {
      const held = await holdResponse(page, 'GET', BOOK)
      await link('Sula').click()
      await held.answered
      await act()
      await held.release()
      assert.equal(await page.getByRole('dialog').count(), 0)
    })

  it('opens the dialog after a log-in that it needed', async () => {
    await refuseToken(BOOK)
    await link('Sula').click()
    await enterPassword(page)
    await field('Title').waitFor()
    assert.equal(await field('Title').inputValue(), 'Sula')
  })

  it('does not ask for the password again after a log-in, if it says that the token before was refused', async () => {
    await page.getByRole('button', { name: 'Statistics' }).click()
    await button('Toni Morrison 1 book').waitFor()
    const released = Promise.withResolvers<void>()
    await refuseToken(/books\?q=sula/)
    await refuseToken(/statistics\?q=sula/, released.promise)
    await page.getByLabel('Search').fill('sula')
    await page.getByText('Your changes are kept').waitFor()
    // The tokens of one second are equal.
    await page.waitForTimeout(1000)
    await enterPassword(page)
    await waitForTitles(page, ['Sula'])
    released.resolve()
    await button('Octavia E. Butler 1 book').waitFor({ state: 'hidden' })
    await button('Toni Morrison 1 book').waitFor()
    assert.equal(await page.getByRole('dialog').count(), 0)
  })

  it('with the statistics of an earlier search replaces no others', async () => {
    await page.getByRole('button', { name: 'Statistics' }).click()
    await button('Toni Morrison 1 book').waitFor()
    const held = await holdResponse(page, 'GET', /statistics\?q=sula/)
    await page.getByLabel('Search').fill('sula')
    await held.answered
    await page.getByLabel('Search').fill('kindred')
    await button('Toni Morrison 1 book').waitFor({ state: 'hidden' })
    await held.release()
    assert.equal(await button('Octavia E. Butler 1 book').count(), 1)
  })

  it('opens no dialog over the question for the password', async () => {
    const other = await openPage(browser(), 'about:blank')
    await other.clock.install()
    await other.goto(service.url)
    await logInOn(other)
    const held = await holdResponse(other, 'GET', BOOK)
    await other.getByRole('link', { name: 'Sula' }).click()
    await held.answered
    await other.clock.fastForward('14:30')
    await other.getByRole('button', { name: 'Stay logged in' }).click()
    await other.getByText('Your changes are kept').waitFor()
    await held.release()
    assert.equal(await other.getByRole('dialog').count(), 1)
    await enterPassword(other)
    await other.context().close()
  })

  it('of a save does not close another dialog, and is told', async () => {
    const held = await saveAndCancel('1974')
    await type('Half a ti')
    await held.release()
    await page.getByText('Saved “Sula”.').waitFor()
    assert.equal(await field('Title').inputValue(), 'Half a ti')
    await discard()
    assert.equal(await page.locator('.row .year').first().textContent(), '1974')
  })

  it('of a save that was refused shows its conflict in no other dialog, and what was typed comes back', async () => {
    const headers = { authorization: service.token }
    await link('Sula').click()
    await field('Author').fill('T. Morrison')
    await fetch(`${service.url}/book/${sula}`, { method: 'PUT', headers, body: '{"year":1975}' })
    const held = await holdResponse(page, 'PUT', BOOK)
    await button('Save').click()
    await held.answered
    await button('Cancel').click()
    await link('Kindred').click()
    await field('Year').fill('1980')
    await held.release()
    await page.getByText('“Sula” was not saved. Someone else has changed this book.').waitFor()
    assert.equal(await field('Title').inputValue(), 'Kindred')
    assert.equal(await field('Year').inputValue(), '1980')
    assert.equal(await page.locator('.conflict').count(), 0)
    await discard()
    await assertAccessible(page)
    await button('Open').click()
    assert.equal(await field('Author').inputValue(), 'T. Morrison')
    assert.match(await page.locator('.conflict').innerText(), /T\. Morrison[\s\S]*Toni Morrison[\s\S]*1975/)
    await button('Overwrite with mine').click()
    await page.getByText('Saved “Sula”.').waitFor()
    // The log-out does not tell again what was told.
    await chooseInMenu(page, 'Log out')
    await page.getByLabel('Username').waitFor()
  })

  it('of a new book is told after its dialog was closed', async () => {
    await type('Jazz')
    await field('Year').fill('1992')
    const held = await holdResponse(page, 'POST', /\/book$/)
    await button('Save').click()
    await held.answered
    await page.keyboard.press('Escape')
    await type('Half a ti')
    await held.release()
    await page.getByText('Added “Jazz”.').waitFor()
    assert.equal(await field('Title').inputValue(), 'Half a ti')
    await discard()
    await waitForTitles(page, ['Sula', 'Kindred', 'Jazz'])
  })

  it('finds the dialog of its book again, in which nothing could be typed meanwhile', async () => {
    const held = await saveAndCancel('1976')
    await link('Sula').click()
    assert.equal(await field('Year').inputValue(), '1976')
    assert.ok(!(await field('Year').isEditable()))
    for (const name of ['Save', 'Delete']) assert.ok(await button(name).isDisabled())
    await held.release()
    await page.getByText('Saved “Sula”.').waitFor()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
  })

  const file = {
    name: 'books.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from('title,author,year\nBeloved,M,1987\n'),
  }

  it('of a check is not waited for once the import is closed', async () => {
    const held = await holdResponse(page, 'POST', /dry_run=true/)
    await chooseInMenu(page, 'Import…')
    await page.getByLabel('File').setInputFiles(file)
    await held.answered
    const failed = page.waitForEvent('requestfailed')
    await button('Close').click()
    assert.match((await failed).url(), /dry_run=true/)
  })

  it('of an export is not waited for once that is cancelled', async () => {
    const held = await holdResponse(page, 'GET', /spreadsheet=true/)
    await chooseInMenu(page, 'Export…')
    await button('CSV for spreadsheets').click()
    await held.answered
    const failed = page.waitForEvent('requestfailed')
    await button('Cancel').click()
    assert.match((await failed).url(), /spreadsheet=true/)
  })

  it('of an import that failed opens no dialog over another', async () => {
    const lost = Promise.withResolvers<void>()
    await page.route(/dry_run=false/, (route) => lost.promise.then(() => route.abort()))
    await chooseInMenu(page, 'Import…')
    await page.getByLabel('File').setInputFiles(file)
    await page.getByText(/\d ready/).waitFor()
    await importButton().click()
    await button('Close').click()
    await type('Half a ti')
    lost.resolve()
    await page.getByText('“books.csv”: The connection was lost').waitFor()
    await page.keyboard.type('tle')
    assert.equal(await field('Title').inputValue(), 'Half a title')
    await discard()
    await button('Open').click()
    await button('Check again').waitFor()
  })

  it('says of no other list that a new book does not match it', async () => {
    await page.getByLabel('Search').fill('octavia')
    await waitForTitles(page, ['Kindred'])
    await type('Dawn')
    const held = await holdResponse(page, 'GET', /title=Dawn/)
    await button('Save').click()
    await held.answered
    await page.getByLabel('Search').fill('dawn')
    await waitForTitles(page, ['Dawn'])
    await held.release()
    assert.equal(await page.getByText('does not match your search').count(), 0)
  })

  it('takes a book that no longer matches a search out of no other list', async () => {
    await page.getByLabel('Search').fill('kindred')
    await waitForTitles(page, ['Kindred'])
    await link('Kindred').click()
    await field('Title').fill('Wild Seed')
    const held = await holdResponse(page, 'GET', /title=Wild/)
    await button('Save').click()
    await held.answered
    await page.getByLabel('Search').fill('wild')
    await waitForTitles(page, ['Wild Seed'])
    await held.release()
    assert.equal(await page.locator('.row').count(), 1)
  })
})
