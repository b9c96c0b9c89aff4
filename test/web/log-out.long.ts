import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { page, usePage } from './page.ts'
import { KEPT } from './timing.ts'

const BOOK = /\/book\/\d+$/

describe('a log-out on the web page', { skip: browserMissing }, () => {
  const service = useService()
  usePage(() => service.url)

  /** Opens a new book on the page, which then has the clock of the tests. @returns its id. */
  async function openBook(title: string): Promise<number> {
    const id = await service.createBook({ title, author: 'Toni Morrison', year: 1973 })
    await page.list(`${service.url}/?title=${title}`, title)
    await page.takeClock()
    await page.makeLonger(5000)
    await page.openBook(title)
    await page.button('Delete').waitFor()
    return id
  }

  const logsOut = async () => {
    await page.chooseInMenu('Log out')
    await page.getByLabel('Username').waitFor()
  }
  const isStored = async (id: number) => (await service.listBooks()).some((book) => book.id === id)

  it('deletes what can still be undone, and is content if it is gone', async () => {
    const id = await openBook('Sula')
    await page.button('Delete').click()
    assert.ok(await isStored(id))
    await logsOut()
    assert.ok(!(await isStored(id)))
    await page.logIn()
    await service.deleteBook(await openBook('Beloved'))
    await page.button('Delete').click()
    await logsOut()
  })

  it('deletes nothing that was undone', async () => {
    const id = await openBook('Tar Baby')
    await page.button('Delete').click()
    await page.button('Undo').click()
    await logsOut()
    assert.ok(await isStored(id))
  })

  for (const [title, reason, begin] of [
    ['Jazz', 'someone else has changed it', (id: number) => service.updateBook(id, { year: 1992 })],
    ['Love', 'your session has expired', () => page.refuse(BOOK, 401)],
    ['Mercy', 'the service is not responding', () => page.route(BOOK, (route) => route.abort())],
  ] as const)
    it(`tells that a book was not deleted: ${reason}`, async () => {
      await begin(await openBook(title))
      await page.button('Delete').click()
      await page.chooseInMenu('Log out')
      await page.shows(`You are logged out. “${title}” was not deleted: ${reason}.`)
      assert.equal(await page.getByText('Toni Morrison').count(), 0)
      assert.ok(!(await page.getByLabel('Password').isVisible()))
      await page.button('Log in again').click()
      await page.getByLabel('Username').waitFor()
    })

  it('waits for a response only so long, and tells that it is not known', async () => {
    const id = await openBook('Paradise')
    const held = await page.hold('DELETE', BOOK)
    await page.button('Delete').click()
    await page.clock.fastForward(KEPT)
    await held.answered
    await page.chooseInMenu('Log out')
    await page.shows('Logging out…')
    await page.clock.fastForward(KEPT)
    await page.shows('Could not confirm that “Paradise” was deleted')
    await page.assertAccessible()
    assert.equal(await isStored(id), false)
  })

  it('tells of a save that fails while its panel is open', async () => {
    await openBook('Recitatif')
    await page.fillIn({ Year: '2003' })
    const released = Promise.withResolvers<void>()
    await page.refuse(BOOK, 500, 1, released.promise)
    await page.button('Save').click()
    await page.chooseInMenu('Log out')
    await page.shows('Logging out…')
    released.resolve()
    await page.shows('“Recitatif” was not saved.')
    // It cannot be opened any more, so the browser does not ask about it.
    let asked = false
    page.on('dialog', (dialog) => {
      asked = true
      void dialog.accept()
    })
    await page.button('Log in again').click()
    await page.getByLabel('Username').waitFor()
    assert.ok(!asked)
  })

  it('asks before it discards what is typed, also what a save has failed to store', async () => {
    await openBook('Desdemona')
    await page.fillIn({ Year: '2011' })
    const released = Promise.withResolvers<void>()
    await page.refuse(BOOK, 500, 1, released.promise)
    await page.button('Save').click()
    await page.cancel()
    released.resolve()
    await page.shows('“Desdemona” was not saved.')
    await page.addBook({ Title: 'Half a ti' })
    await page.chooseInMenu('Log out')
    await page.button('Keep editing').click()
    assert.equal(await page.field('Title').inputValue(), 'Half a ti')
    await page.chooseInMenu('Log out')
    await page.dialog().getByRole('button', { name: 'Discard' }).click()
    await page.waitUntil(`document.querySelector('[name=year]').value === '2011'`)
    await page.dialog().getByRole('button', { name: 'Discard' }).click()
    await page.getByLabel('Username').waitFor()
  })

  it('waits for a save under way', async () => {
    const id = await openBook('Home')
    await page.fillIn({ Year: '2012' })
    const released = Promise.withResolvers<void>()
    await page.route(BOOK, (route) => released.promise.then(() => route.continue()))
    await page.button('Save').click()
    await page.chooseInMenu('Log out')
    await page.shows('Logging out…')
    released.resolve()
    await page.getByLabel('Username').waitFor()
    assert.equal((await service.readBook(id)).year, 2012)
  })
})
