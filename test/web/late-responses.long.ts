import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { openPage, page, usePage } from './page.ts'

const BOOK = /\/book\/\d+$/
const FILE = 'title,author,year\nBeloved,M,1987\n'

describe('a response that reaches the web page late', { skip: browserMissing }, () => {
  const service = useService()
  const browser = usePage(() => service.url, 'Sula', 'Kindred')
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
  async function saveAndCancel(method = 'PUT') {
    const held = await page.hold(method, /\/book(\/\d+)?$/, () => page.button('Save').click())
    await page.button('Cancel').click()
    return held
  }

  for (const [what, act, title] of [
    ['another book is opened', () => page.openBook('Kindred', { Author: 'O. E. Butler' }), 'Kindred'],
    ['Escape is pressed', () => page.keys('Escape'), undefined],
    ['something is searched for', () => page.search('kin'), undefined],
  ] as const)
    it(`with a book opens no dialog if meanwhile ${what}`, async () => {
      const held = await page.hold('GET', BOOK, () => page.openBook('Sula'))
      await act()
      await held.release()
      assert.equal(await page.dialog().count(), title === undefined ? 0 : 1)
      if (title !== undefined) assert.equal(await page.field('Title').inputValue(), title)
    })

  it('shows no duplicate of a title that was typed before', async () => {
    const held = await page.hold('GET', /books\?q=Sula&/)
    await page.addBook({ Title: 'Sula' })
    await page.field('Author').focus()
    await held.answered
    await page.fillIn({ Title: 'Sula, annotated' })
    await held.release()
    assert.equal(await page.getByText('Already in the catalogue').count(), 0)
  })

  it('does not ask for the password again after a log-in, if it says that the token before was refused', async () => {
    await page.button('Statistics').click()
    await page.button('Toni Morrison 1 book').waitFor()
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
    await page.button('Octavia E. Butler 1 book').waitFor({ state: 'hidden' })
    await page.button('Toni Morrison 1 book').waitFor()
    assert.equal(await page.dialog().count(), 0)
  })

  it('with the statistics of an earlier search replaces no others', async () => {
    await page.button('Statistics').click()
    await page.button('Toni Morrison 1 book').waitFor()
    const held = await page.hold('GET', /statistics\?q=sula/, () => page.search('sula'))
    await page.search('kindred')
    await page.button('Toni Morrison 1 book').waitFor({ state: 'hidden' })
    await held.release()
    assert.equal(await page.button('Octavia E. Butler 1 book').count(), 1)
  })

  it('opens no dialog over the question for the password', async () => {
    const other = await openPage(browser(), 'about:blank')
    await other.clock.install()
    await other.goto(service.url)
    await other.logIn()
    const held = await other.hold('GET', BOOK, () => other.openBook('Sula'))
    await other.clock.fastForward('14:30')
    await other.choose('Stay logged in', 'Your changes are kept')
    await held.release()
    assert.equal(await other.dialog().count(), 1)
    await other.enterPassword()
  })

  for (const [what, method, begin, told] of [
    ['a save', 'PUT', () => page.openBook('Sula', { Year: '1974' }), 'Saved “Sula”.'],
    ['a new book', 'POST', () => page.addBook({ Title: 'Jazz', Year: '1992' }), 'Added “Jazz”.'],
  ] as const)
    it(`of ${what} does not close another dialog, and is told`, async () => {
      await begin()
      const held = await saveAndCancel(method)
      await page.addBook({ Title: 'Half a ti' })
      await held.release()
      await page.shows(told)
      assert.equal(await page.field('Title').inputValue(), 'Half a ti')
      await page.locator('.row .year', { hasText: method === 'PUT' ? '1974' : '1992' }).waitFor()
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
    assert.match(await page.locator('.conflict').innerText(), /T\. Morrison[\s\S]*Toni Morrison[\s\S]*1975/)
    await page.choose('Overwrite with mine', 'Saved “Sula”.')
    // The log-out does not tell again what was told.
    await page.chooseInMenu('Log out')
    await page.getByLabel('Username').waitFor()
  })

  it('finds the dialog of its book again, in which nothing could be typed meanwhile', async () => {
    await page.openBook('Sula', { Year: '1976' })
    const held = await saveAndCancel()
    await page.openBook('Sula')
    assert.equal(await page.field('Year').inputValue(), '1976')
    assert.ok(!(await page.field('Year').isEditable()))
    for (const name of ['Save', 'Delete']) assert.ok(await page.button(name).isDisabled())
    await held.release()
    await page.shows('Saved “Sula”.')
    await page.showsNoDialog()
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
    await closeWith('Cancel', /spreadsheet=true/)
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

  for (const [what, begin, title] of [
    ['a new book does not match it', () => page.addBook({ Title: 'Dawn' }), 'Dawn'],
    ['a book no longer matches it', () => page.openBook('Kindred', { Title: 'Wild Seed' }), 'Wild Seed'],
  ] as const)
    it(`says of no other list that ${what}`, async () => {
      await page.search('kindred', 'Kindred')
      await begin()
      const held = await page.hold('GET', /q=kindred&title=/, () => page.button('Save').click())
      await page.search(title, title)
      await held.release()
      assert.equal(await page.getByText(/match(es)? your search/).count(), 0)
      assert.equal(await page.locator('.row').count(), 1)
    })
})
