import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { browserMissing, useBrowser } from '../support/browser.ts'
import { logIn } from '../support/client.ts'
import { type Service, startService, temporaryDirectory } from '../support/service.ts'
import { assertAccessible, enterPassword, openCatalogue, waitForTitles } from './page.ts'
import { Relay } from './relay.ts'

/** As slow as a service can be that people still wait for, in milliseconds. */
const SLOW = 10_000

describe('what is typed on the web page', { skip: browserMissing }, () => {
  const directory = temporaryDirectory()
  const browser = useBrowser()
  let service: Service
  let relay: Relay

  const start = (secret: string) => startService(directory.path, { SECRET_TOKEN: secret })

  before(async () => {
    service = await start('the secret of the tests, before an upgrade')
    const headers = { authorization: await logIn(service.url) }
    for (const title of ['Sula', 'Jazz'])
      await fetch(`${service.url}/book`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ title, author: 'Toni Morrison', year: 1973 }),
      })
    relay = await Relay.open(() => service.url)
  })
  after(async () => {
    await relay?.[Symbol.asyncDispose]()
    await service?.stop()
    directory.remove()
  })

  const field = (page: Page, label: string) => page.getByRole('dialog').getByLabel(label)
  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

  it('is saved after an upgrade of the service, which has other files for the page', async () => {
    const page = await openCatalogue(browser(), relay.url)
    await waitForTitles(page, ['Sula', 'Jazz'])
    await page.getByRole('link', { name: 'Sula', exact: true }).click()
    await field(page, 'Author').fill('T. Morrison')
    await service.stop()
    service = await start('the secret of the tests, after an upgrade')
    const gone = { status: 404, json: { status: 404, message: 'Not found', data: null } }
    await page.route('**/web/**', (route) => route.fulfill(gone))
    await button(page, 'Save').click()
    await page.getByText('Your changes are kept').waitFor()
    await enterPassword(page)
    await page.getByText('Saved “Sula”.').waitFor()
    await page.getByRole('button', { name: 'Statistics' }).click()
    await page.getByRole('heading', { name: 'Top authors' }).waitFor()
    await assertAccessible(page)
    await page.getByLabel('Search').fill('sul')
    await waitForTitles(page, ['Sula'])
    await page.context().close()
  })

  it('is kept and saved when each response takes ten seconds', async () => {
    const page = await openCatalogue(browser(), relay.url)
    await waitForTitles(page, ['Sula', 'Jazz'])
    await page.clock.install()
    const delayed = new Set<() => void>()
    await page.route(/\/books?\b/, async (route) => {
      await new Promise<void>((resolve) => delayed.add(resolve))
      await route.continue()
    })
    /** Lets time pass, and then through what was asked before. */
    const pass = async () => {
      const asked = [...delayed]
      await page.clock.runFor(SLOW)
      for (const release of asked) {
        delayed.delete(release)
        release()
      }
      await page.waitForTimeout(300)
    }
    await page.getByLabel('Search').fill('jaz')
    await page.clock.runFor(1000)
    await page.getByText('Loading…').waitFor()
    await button(page, 'Add book').click()
    await field(page, 'Title').fill('Paradise')
    await field(page, 'Author').fill('Toni Mo')
    await field(page, 'Year').fill('1997')
    await pass()
    assert.equal(await field(page, 'Title').inputValue(), 'Paradise')
    assert.equal(await field(page, 'Author').inputValue(), 'Toni Mo')
    await button(page, 'Save').click()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.getByLabel('Search').fill('jazz')
    for (let times = 0; times < 10 && !(await page.getByText('“Paradise”').count()); times++) await pass()
    await page.getByText('“Paradise”').first().waitFor()
    assert.equal(await page.getByLabel('Search').inputValue(), 'jazz')
    for (const release of delayed) release()
    await page.unrouteAll({ behavior: 'wait' })
    const headers = { authorization: await logIn(service.url) }
    const response = await fetch(`${service.url}/books?title=Paradise`, { headers })
    const { data } = (await response.json()) as { data: { author: string }[] }
    assert.deepEqual(
      data.map(({ author }) => author),
      ['Toni Mo'],
    )
    await page.context().close()
  })
})
