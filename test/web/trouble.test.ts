import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { launchBrowser } from '../support/browser.ts'
import { logIn } from '../support/client.ts'
import { freePort } from '../support/free-port.ts'
import { type Service, startService, temporaryDirectory } from '../support/service.ts'
import { describeOnEngines } from './on-engines.ts'
import { assertAccessible, enterPassword, logInOn, openPage, screenshot, waitForTitles } from './page.ts'

describeOnEngines('the web page when something goes wrong', (database) => {
  const directory = temporaryDirectory()
  let settings = {}
  let service: Service
  let browser: Browser

  const start = (secret: string) => startService(directory.path, { ...settings, SECRET_TOKEN: secret })

  before(async () => {
    settings = { ...(await database()), PORT: String(await freePort()) }
    service = await start('the secret of the tests, the first of the two')
    const headers = { authorization: await logIn(service.url) }
    const body = JSON.stringify({ title: 'Kindred', author: 'Octavia E. Butler', year: 1979 })
    await fetch(`${service.url}/book`, { method: 'POST', headers, body })
    browser = await launchBrowser()
  })
  after(async () => {
    await browser?.close()
    await service?.stop()
    directory.remove()
  })

  it('keeps what was typed while the service is restarted, and saves it after another log-in', async () => {
    const page = await openPage(browser, service.url)
    await logInOn(page)
    await page.getByRole('button', { name: 'Kindred' }).click()
    await page.getByRole('dialog').getByLabel('Year').fill('1980')
    await service.stop()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('What you typed is still here').waitFor()
    await assertAccessible(page)
    await screenshot(page, 'away')
    service = await start('the secret of the tests, the second of the two')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Nothing that you typed is lost').waitFor()
    await enterPassword(page)
    await page.getByText('Saved “Kindred”.').waitFor()
    assert.equal(await page.locator('.row .year').first().textContent(), '1980')
    await page.context().close()
  })

  it('says that the service is away, and goes on by itself when it is back', async () => {
    const page = await openPage(browser, service.url)
    await logInOn(page)
    await waitForTitles(page, ['Kindred'])
    await service.stop()
    await page.getByLabel('Search').fill('kin')
    await page.getByText('The service does not answer').waitFor()
    await assertAccessible(page)
    service = await start('the secret of the tests, the second of the two')
    await waitForTitles(page, ['Kindred'])
    await page.context().close()
  })

  it('tells of a connection that is lost during an import, of which nothing is stored', async () => {
    const page = await openPage(browser, service.url)
    await logInOn(page)
    await page.getByRole('button', { name: 'Import…' }).click()
    const buffer = Buffer.from('title,author,year\nA good one,B,1\n')
    await page.getByLabel('File').setInputFiles({ name: 'books.csv', mimeType: 'text/csv', buffer })
    await page.getByText('To be added').waitFor()
    await page.route('**/books/import?dry_run=false*', (route) => route.abort('connectionreset'))
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByText('Either all books of the file were stored or none').waitFor()
    await assertAccessible(page)
    const headers = { authorization: await logIn(service.url) }
    const answer = await fetch(`${service.url}/books?limit=1&count=true`, { headers })
    assert.equal(answer.headers.get('x-total-count'), '1')
    await page.context().close()
  })
})
