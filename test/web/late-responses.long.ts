import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { page, usePage } from './page.ts'

const BOOK = /\/book\/\d+$/
const FILE = 'title,author,year\nBeloved,M,1987\n'

describe('a response that reaches the web page late', { skip: browserMissing }, () => {
  const service = useService()
  usePage(() => service.url, 'Sula', 'Kindred')
  let sula: number

  before(async () => {
    sula = await service.createBook({ title: 'Sula', author: 'Toni Morrison', year: 1973 })
    await service.createBook({ title: 'Kindred', author: 'Octavia E. Butler', year: 1979 })
  })

  async function discard(): Promise<void> {
    await page.button('Cancel').click()
    await page.locator('form').getByRole('button', { name: 'Discard' }).click()
  }

  /** Saves what the dialog has, is answered only when the test says so, and closes the dialog meanwhile. */
  async function saveAndCancel() {
    const held = await page.hold('PUT', BOOK, () => page.button('Save').click())
    await page.button('Cancel').click()
    return held
  }

  it('with a book opens no dialog if meanwhile Escape is pressed, another is opened, or something is searched for', async () => {
    for (const act of [
      () => page.keys('Escape'),
      () => page.openBook('Kindred', { Author: 'O. E. Butler' }),
      () => page.search('kin'),
    ]) {
      const held = await page.hold('GET', BOOK, () => page.openBook('Sula'))
      await act()
      await held.release()
      if ((await page.dialog().count()) > 0) {
        assert.equal(await page.field('Title').inputValue(), 'Kindred')
        await discard()
      }
    }
  })

  it('with a book that the address names leaves no trace there either', async () => {
    await page.openBook('Sula')
    await page.button('Delete').waitFor()
    await page.escape()
    await page.waitUntil(`location.hash === ''`)
    const held = await page.hold('GET', BOOK, () => page.goForward())
    await page.button('Statistics').click()
    await page.waitUntil(`location.hash === ''`)
    await held.release()
    assert.equal(await page.dialog().count(), 0)
  })

  it('shows no duplicate of a title that was typed before, or of any author once there is one', async () => {
    for (const typed of [{ Title: 'Sula, annotated' }, { Author: 'Somebody else' }]) {
      const held = await page.hold('GET', /books\?q=Sula&/)
      await page.addBook({ Title: 'Sula' })
      await page.field('Author').focus()
      await held.answered
      await page.fillIn(typed)
      await held.release()
      assert.equal(await page.getByText('Already in the catalogue').count(), 0)
      await discard()
    }
  })

  it('with statistics replaces none of a later search, and asks for no password that was given since', async () => {
    await page.button('Statistics').click()
    await page.button('Toni Morrison 1 book').waitFor()
    const held = await page.hold('GET', /statistics\?q=sula/, () => page.search('sula'))
    await page.search('kindred')
    await page.button('Toni Morrison 1 book').waitFor({ state: 'hidden' })
    await held.release()
    assert.equal(await page.button('Octavia E. Butler 1 book').count(), 1)
    const released = Promise.withResolvers<void>()
    await page.refuse(/books\?q=sula/, 401, 1)
    await page.refuse(/statistics\?q=sula/, 401, 1, released.promise)
    await page.search('sula')
    await page.shows('Your changes are kept')
    // The tokens of one second are equal.
    await page.waitForTimeout(1000)
    await page.enterPassword()
    await page.showsTitles('Sula')
    released.resolve()
    await page.button('Toni Morrison 1 book').waitFor()
    assert.equal(await page.dialog().count(), 0)
  })

  it('of a save closes no other dialog, is told, and finds that of its book again, in which nothing could be typed', async () => {
    await page.openBook('Sula', { Year: '1974' })
    const first = await saveAndCancel()
    // The browser asks before the page is closed.
    assert.ok(!(await page.evaluate(`dispatchEvent(new Event('beforeunload', { cancelable: true }))`)))
    await page.addBook({ Title: 'Half a ti' })
    await first.release()
    await page.shows('Saved “Sula”.')
    assert.equal(await page.field('Title').inputValue(), 'Half a ti')
    await page.locator('.row .year', { hasText: '1974' }).waitFor()
    await discard()
    await page.openBook('Sula', { Year: '1976' })
    const second = await saveAndCancel()
    await page.openBook('Sula')
    assert.equal(await page.field('Year').inputValue(), '1976')
    assert.ok(!(await page.field('Year').isEditable()))
    for (const name of ['Save', 'Delete']) assert.ok(await page.button(name).isDisabled())
    await second.release()
    await page.locator('.row .year', { hasText: '1976' }).waitFor()
    await page.showsNoDialog()
  })

  it('of a save that was refused shows its conflict in no other dialog, and what was typed comes back', async () => {
    await page.openBook('Sula', { Author: 'T. Morrison' })
    await service.updateBook(sula, { year: 1975 })
    const held = await saveAndCancel()
    await page.openBook('Kindred', { Year: '1980' })
    await held.release()
    await page.shows('“Sula” was not saved. Someone else has changed this book.')
    assert.equal(await page.field('Year').inputValue(), '1980')
    assert.equal(await page.locator('.conflict').count(), 0)
    await discard()
    await page.button('Open').click()
    assert.equal(await page.field('Author').inputValue(), 'T. Morrison')
    assert.equal(await page.locator('tr.differs').count(), 2)
    assert.match(await page.locator('.conflict').innerText(), /T\. Morrison[\s\S]*Toni Morrison[\s\S]*1975/)
    await page.choose('Overwrite with mine', 'Saved “Sula”.')
    // The log-out does not tell again what was told.
    await page.chooseInMenu('Log out')
    await page.getByLabel('Username').waitFor()
  })

  it('is not waited for once the dialog is closed of the check or the export that it is of', async () => {
    const closeWith = async (name: string, url: RegExp) => {
      const [failed] = await Promise.all([page.waitForEvent('requestfailed'), page.button(name).click()])
      assert.match(failed.url(), url)
    }
    await page.hold('POST', /dry_run=true/, () => page.chooseFile(FILE))
    await closeWith('Close', /dry_run=true/)
    await page.chooseInMenu('Export…')
    await page.hold('GET', /spreadsheet=true/, () => page.button('CSV for spreadsheets').click())
    // Pressing it again asks for no second file.
    let others = 0
    page.on('request', (request) => {
      if (request.url().includes('spreadsheet=true')) others++
    })
    await page.keys('Enter')
    await closeWith('Cancel', /spreadsheet=true/)
    // Nor does an export begin then that has waited for a deletion.
    await service.createBook({ title: 'Jazz', author: 'Toni Morrison' })
    await page.search('jazz', 'Jazz')
    await page.deleteBook('Jazz')
    await page.chooseInMenu('Export…')
    const held = await page.hold('DELETE', BOOK, () => page.button('CSV for spreadsheets').click())
    await page.cancel()
    await held.release()
    assert.equal(others, 0)
  })

  it('of an import that failed opens no dialog over another', async () => {
    const lost = Promise.withResolvers<void>()
    await page.route(/dry_run=false/, (route) => lost.promise.then(() => route.abort()))
    await page.chooseFile(FILE)
    await page.shows(/\d ready/)
    await page.importButton().click()
    await page.button('Close').click()
    await page.addBook({ Title: 'Half a ti' })
    lost.resolve()
    await page.shows('“books.csv”: The connection was lost')
    await page.keyboard.type('tle')
    assert.equal(await page.field('Title').inputValue(), 'Half a title')
    await discard()
    await page.button('Open').click()
    await page.button('Check again').waitFor()
  })

  const rename = () => page.openBook('Kindred', { Title: 'Wild Seed' })
  for (const [what, begin, title, url] of [
    ['a new book is far down in it', () => page.addBook({ Title: 'Kindred 2' }), 'Sula', /kindred&sort/],
    ['a new book does not match it', () => page.addBook({ Title: 'Dawn' }), 'Dawn', /kindred&title/],
    ['a book no longer matches it', rename, 'Wild Seed', /kindred&title/],
  ] as const)
    it(`says of no other list that ${what}`, async () => {
      await page.search('kindred', 'Kindred')
      await begin()
      const held = await page.hold('GET', url, () => page.button('Save').click())
      await page.search(title, title)
      await held.release()
      assert.equal(await page.getByText(/match(es)? your search|far down/).count(), 0)
      await page.showsExactly('1 book')
    })
})
