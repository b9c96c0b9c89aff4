import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import {
  button,
  chooseInMenu,
  holdResponse,
  KEPT,
  keepNotices,
  link,
  page,
  usePage,
  waitForTitles,
  waitUntil,
} from './page.ts'

/** More than one page of the list. */
const BOOKS = 130

describe('the rows of the web page', { skip: browserMissing }, () => {
  const service = useService((service) =>
    service.importBooks(
      Array.from({ length: BOOKS }, (_, i) => ({ title: `Volume ${i}`, author: 'A Series', year: 2000 })),
    ),
  )
  usePage(
    () => service.url,
    () => page.locator('.row .title').first().waitFor(),
  )

  it('scroll with PageDown after the log-in, and after a reload', async () => {
    for (let times = 0; times < 2; times++) {
      await page.keyboard.press('PageDown')
      await waitUntil(page, `document.querySelector('.rows').scrollTop > 300`)
      await page.reload()
      await page.locator('.row .title').first().waitFor()
      await page.locator('.rows').evaluate((rows) => rows.scrollTo(0, 0))
    }
  })

  it('are links, which open in another tab with Ctrl', async () => {
    const open = async (name: string) => {
      const [other] = await Promise.all([
        page.context().waitForEvent('page'),
        link(name)
          .first()
          .click({ modifiers: ['Control'] }),
      ])
      return other
    }
    const ofBook = await open('Volume 1')
    assert.equal(await ofBook.getByRole('dialog').getByLabel('Title').inputValue(), 'Volume 1')
    const ofAuthor = await open('A Series')
    await ofAuthor.getByRole('button', { name: 'Author: A Series, clear this filter' }).waitFor()
    assert.equal(await page.getByRole('dialog').count(), 0)
    assert.equal(new URL(page.url()).search, '?sort=id')
  })

  for (const column of ['title', 'author'])
    it(`let the text of the ${column} be copied`, async () => {
      const text = page.locator(`.row .${column} a`).first()
      const { x, y, width, height } = (await text.boundingBox()) ?? assert.fail('no text')
      // From behind the text: in a link, Chromium begins no selection.
      for (const from of [x + width + 5, x + width - 1]) {
        await page.mouse.move(from, y + height / 2)
        await page.mouse.down()
        await page.mouse.move(x + 1, y + height / 2, { steps: 5 })
        await page.mouse.up()
        assert.equal(await page.getByRole('dialog').count(), 0)
        assert.equal(new URL(page.url()).search, '?sort=id')
        if (from > x + width) assert.match(await page.evaluate('getSelection().toString()'), /olume 0|Serie/)
      }
      await text.click()
      if (column === 'title') await page.getByRole('dialog').waitFor()
      else await page.waitForURL(/author=/)
    })

  it('are higher if one likes, from then on', async () => {
    const height = async () => (await page.locator('.row').first().boundingBox())?.height
    assert.equal(await height(), 36)
    await chooseInMenu(page, 'Comfortable rows')
    assert.equal(await height(), 44)
    await page.reload()
    await page.locator('.row .title').first().waitFor()
    assert.equal(await height(), 44)
    await chooseInMenu(page, 'Comfortable rows')
    assert.equal(await height(), 36)
  })

  it('are deleted at once when another follows, or the notice is dismissed', async () => {
    await page.clock.install()
    await keepNotices(page)
    const remove = async (title: string) => {
      await link(title).click()
      await button('Delete').click()
      await page.getByText(`Deleted “${title}”.`).waitFor()
    }
    const deletion = () => page.waitForResponse((response) => response.request().method() === 'DELETE')
    await remove('Volume 0')
    const [first] = await Promise.all([deletion(), remove('Volume 1')])
    assert.equal(first.status(), 200)
    assert.match(first.url(), /\/book\/1$/)
    assert.equal(await button('Undo').count(), 1)
    const [second] = await Promise.all([deletion(), button('Dismiss').click()])
    assert.match(second.url(), /\/book\/2$/)
    await button('Undo').waitFor({ state: 'hidden' })
    // Otherwise it would have been deleted only now.
    await page.clock.fastForward(KEPT)
  })

  it('leave the list when somebody else has deleted their book', async () => {
    const headers = { authorization: service.token }
    assert.equal((await fetch(`${service.url}/book/31`, { method: 'DELETE', headers })).status, 200)
    await link('Volume 30').click()
    await page.getByText('Book not found.').waitFor()
    await link('Volume 30').waitFor({ state: 'detached' })
    await link('Volume 31').waitFor()
  })

  it('are sorted by year with those of an unknown year at the end', async () => {
    for (const year of [-500, 0, 1700])
      await service.createBook({ title: `Of ${year}`, author: 'Unknown', year })
    const shows = async (parameters: string, titles: string[]) => {
      await page.goto(`${service.url}/?author=Unknown&${parameters}`)
      await page.getByText(`${titles.length} book`).waitFor()
      await waitForTitles(page, titles)
    }
    await shows('sort=year', ['Of -500', 'Of 1700', 'Of 0'])
    await shows('sort=-year', ['Of 1700', 'Of -500', 'Of 0'])
    await shows('sort=-year&year_min=0', ['Of 1700', 'Of 0'])
    await shows('sort=year&year_max=0', ['Of -500', 'Of 0'])
    await shows('sort=year&year_max=-1', ['Of -500'])
    await shows('sort=year&year_min=1', ['Of 1700'])
    await shows('sort=-year&year_min=0&year_max=0', ['Of 0'])
    // There are no years before 1 BC: the list is replaced once there are books.
    await page.goto(`${service.url}/?author=A+Series`)
    await waitForTitles(page, [`Volume ${BOOKS - 1}`])
    const held = await holdResponse(page, 'GET', /year_min=1$/)
    await page.getByLabel('Sort by').selectOption('Earliest year')
    await held.answered
    assert.ok((await page.locator('.row .title').count()) > 0)
    await held.release()
    // A request that fails is made again, and no part of the list is left out.
    let isFirst = true
    await page.route(/year_min=1$/, (route) => {
      const fails = isFirst
      isFirst = false
      return fails ? route.abort() : route.continue()
    })
    await page.goto(`${service.url}/?author=A+Series&sort=year`)
    await button('Retry now').click()
    await link('Volume 2').waitFor()
  })

  it('have years that fit, and are told in full', async () => {
    for (const year of [-13_800_000_000, 9_007_199_254_740_991])
      await service.createBook({ title: `Of ${year}`, author: 'Cosmos', year })
    await page.goto(`${service.url}/?author=Cosmos&sort=id`)
    await waitForTitles(page, ['Of -13800000000'])
    assert.deepEqual(await page.locator('.row .year').allTextContents(), ['13.8B BC', '9010T'])
    await page.getByTitle('13800000000 BC').waitFor()
  })

  it('that are deleted can be taken back after a look at another tab', async () => {
    await keepNotices(page)
    await link('Volume 40').click()
    await button('Delete').click()
    await page.evaluate(`{
      Object.defineProperty(document, 'visibilityState', { value: 'hidden', configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    }`)
    await button('Undo').click()
    await link('Volume 40').waitFor()
  })

  it('are all printed, also those that have not been in sight', async () => {
    for (const print of [() => page.keyboard.press('Control+p'), () => chooseInMenu(page, 'Print…')]) {
      await page.goto(`${service.url}/?sort=title`)
      await page.locator('.row .title').first().waitFor()
      await page.evaluate(`globalThis.print = () => {
        dispatchEvent(new Event('beforeprint'))
        globalThis.printed = document.querySelectorAll('.row').length
        dispatchEvent(new Event('afterprint'))
      }`)
      await print()
      await waitUntil(page, 'globalThis.printed > 0')
      assert.ok(Number(await page.evaluate('globalThis.printed')) > BOOKS - 10)
    }
  })

  it('that follow are announced by an empty one until they are counted', async () => {
    await page.route(/count=true/, (route) => route.abort())
    await page.route(/cursor|after/, () => {})
    await page.reload()
    await page.locator('.row .title').first().waitFor()
    await page.locator('.rows').evaluate((rows) => rows.scrollTo(0, rows.scrollHeight))
    await page.locator('.row.loading').getByRole('img', { name: 'Loading…' }).waitFor()
  })
})
