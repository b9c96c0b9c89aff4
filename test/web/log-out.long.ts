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

  for (const [what, isThere] of [
    ['deletes what can still be undone', true],
    ['is content that a book to be deleted is gone', false],
  ] as const)
    it(what, async () => {
      const id = await openBook('Sula')
      if (!isThere) await service.deleteBook(id)
      await page.button('Delete').click()
      assert.equal(await isStored(id), isThere)
      await logsOut()
      assert.equal(await isStored(id), false)
    })

  it('deletes nothing that was undone', async () => {
    const id = await openBook('Tar Baby')
    await page.button('Delete').click()
    await page.button('Undo').click()
    await logsOut()
    assert.ok(await isStored(id))
  })

  it('tells that a book was not deleted because it was changed', async () => {
    const id = await openBook('Jazz')
    await service.updateBook(id, { year: 1992 })
    await page.button('Delete').click()
    await page.chooseInMenu('Log out')
    await page.shows('“Jazz” was not deleted: someone else has changed it.')
    await page.shows('You are logged out.')
    assert.equal(await page.getByText('Toni Morrison').count(), 0)
    await page.assertAccessible()
    await page.button('Log in again').click()
    await page.getByLabel('Username').waitFor()
  })

  for (const [status, reason] of [
    [503, 'the service is busy'],
    [401, 'your session has expired'],
    [undefined, 'the service is not responding'],
  ] as const)
    it(`tells that a book was not deleted: ${reason}`, async () => {
      await openBook(`Love ${status}`)
      if (status === undefined) await page.route(BOOK, (route) => route.abort())
      else await page.refuse(BOOK, status)
      await page.button('Delete').click()
      await page.chooseInMenu('Log out')
      await page.shows(`You are logged out. “Love ${status}” was not deleted: ${reason}.`)
      assert.ok(!(await page.getByLabel('Password').isVisible()))
    })

  it('waits for a response only so long, and tells that it is not known', async () => {
    const id = await openBook('Paradise')
    const held = await page.hold('DELETE', BOOK)
    await page.button('Delete').click()
    await page.clock.fastForward(KEPT)
    await held.answered
    await page.chooseInMenu('Log out')
    await page.shows('Logging out…')
    await page.assertAccessible()
    await page.clock.fastForward(KEPT)
    await page.shows('Could not confirm that “Paradise” was deleted')
    assert.equal(await isStored(id), false)
  })

  it('tells of a save that fails while its panel is open', async () => {
    await openBook('Love')
    await page.fillIn({ Year: '2003' })
    const released = Promise.withResolvers<void>()
    await page.refuse(BOOK, 500, 1, released.promise)
    await page.button('Save').click()
    await page.chooseInMenu('Log out')
    await page.shows('Logging out…')
    released.resolve()
    await page.shows('“Love” was not saved.')
  })

  it('waits for a save under way', async () => {
    const id = await openBook('Home')
    await page.fillIn({ Year: '2012' })
    const released = Promise.withResolvers<void>()
    await page.route(BOOK, (route) => released.promise.then(() => route.continue()))
    await page.button('Save').click()
    await page.button('Cancel').click()
    await page.chooseInMenu('Log out')
    await page.shows('Logging out…')
    released.resolve()
    await page.getByLabel('Username').waitFor()
    assert.equal((await service.readBook(id)).year, 2012)
  })
})
