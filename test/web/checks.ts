import assert from 'node:assert/strict'
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Page } from 'playwright-core'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Where screenshots go, if anywhere. */
const SCREENSHOTS = process.env.SCREENSHOTS

/** What is checked on a page as it is. */
export function checks(page: Page) {
  /** Keeps what is seen, if SCREENSHOTS names a directory. */
  async function keepPicture(name: string): Promise<void> {
    if (SCREENSHOTS === undefined) return
    mkdirSync(SCREENSHOTS, { recursive: true })
    await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) })
  }

  /**
   * Checks with axe-core.
   * @param picture the name of a screenshot to keep.
   * @param rules by default those of WCAG 2.2 AA and good practice.
   */
  async function assertAccessible(picture?: string, rules?: readonly string[]): Promise<void> {
    if (picture !== undefined) await keepPicture(picture)
    // Not as a script element, which the policy of the page forbids.
    if (!(await page.evaluate(`'axe' in globalThis`))) await page.evaluate(readFileSync(AXE, 'utf8'))
    const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) }
    const violations =
      await page.evaluate(`axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
      violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary).join('; ')))`)
    assert.deepEqual(violations, [])
  }

  /** Checks that nothing is wider than an element, by default the window. */
  async function assertFits(selector = 'html'): Promise<void> {
    const [inner, outer] = await page
      .locator(selector)
      .evaluate(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth] as const)
    assert.ok(inner <= outer, `${selector}: ${inner} > ${outer} pixels`)
  }

  return { keepPicture, assertAccessible, assertFits }
}
