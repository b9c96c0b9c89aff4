import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { browserMissing, launchBrowser } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { assertAccessible, logInOn, openPage, screenshot } from './page.ts'

const EXAMPLES = readFileSync(join(import.meta.dirname, '../../examples/books.csv'))

/** The pictures of the README: SCREENSHOTS=docs/images makes them anew. */
describe('the web page with the catalogue of the examples', { skip: browserMissing }, () => {
  const service = useService(async (service) => {
    const headers = { authorization: service.token, 'content-type': 'text/csv' }
    const response = await fetch(`${service.url}/books/import`, { method: 'POST', headers, body: EXAMPLES })
    assert.equal(response.status, 200)
  })
  let browser: Browser

  before(async () => {
    browser = await launchBrowser()
  })
  after(() => browser?.close())

  for (const colorScheme of ['light', 'dark'] as const) {
    it(`is fit to be seen, in ${colorScheme}`, async () => {
      const page = await openPage(browser, `${service.url}/?year_min=1800`, {
        colorScheme,
        viewport: { width: 900, height: 640 },
      })
      await logInOn(page)
      await page.getByText('At a glance').click()
      await page.locator('.decades li').first().waitFor()
      await page
        .getByText(/^\d+ books$/)
        .first()
        .waitFor()
      await assertAccessible(page)
      await screenshot(page, `page-${colorScheme}`)
      await page.context().close()
    })
  }
})
