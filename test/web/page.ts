import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'node:test'
import type { Browser, BrowserContextOptions, Page, Request } from 'playwright-core'
import { useBrowser } from '../support/browser.ts'
import { ACCOUNT } from '../support/service.ts'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Where screenshots go, if anywhere. */
const SCREENSHOTS = process.env.SCREENSHOTS

/** How long the page may take for anything, in milliseconds: far more than it needs on a busy machine. */
const PATIENCE = 30_000

/**
 * A page of a person of their own: nothing is shared with the others. Errors, also of the policy, end the test. It lists
 * the oldest books first, in the order in which a test adds them, unless the address says what it lists.
 */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: 1100, height: 800 },
    bypassCSP: false,
    ...options,
  })
  const page = await context.newPage()
  await recordCoverage(page)
  page.setDefaultTimeout(PATIENCE)
  page.on('pageerror', (error) => {
    throw error
  })
  page.on('console', (message) => {
    const isOfService = /Failed to load resource/.test(message.text())
    if (message.type() === 'error' && !isOfService) throw new Error(message.text())
  })
  const address = new URL(url)
  if (address.search === '') address.search = '?sort=id'
  await page.goto(address.href)
  return page
}

/** When its context is closed, writes which code of the page has run to where Node.js writes the coverage of its own. */
async function recordCoverage(page: Page): Promise<void> {
  const directory = process.env.NODE_V8_COVERAGE
  if (directory === undefined) return
  await page.coverage.startJSCoverage({ resetOnNavigation: false })
  const context = page.context()
  const close = context.close.bind(context)
  context.close = async () => {
    const result = await page.coverage.stopJSCoverage()
    writeFileSync(join(directory, `page-${randomUUID()}.json`), JSON.stringify({ result }))
    await close()
  }
}

export async function logInOn(page: Page): Promise<void> {
  await page.getByLabel('Username').fill(ACCOUNT.username)
  await enterPassword(page)
}

/** Opens the page and logs in. The options are those of `openPage`. */
export async function openCatalogue(...options: Parameters<typeof openPage>): Promise<Page> {
  const page = await openPage(...options)
  await logInOn(page)
  return page
}

/** The page of the test that runs, in a suite that calls `usePage`. */
export let page: Page

/**
 * To be called in a `describe`: for each test a person of their own opens the page and logs in.
 * @param address where, once the service has been started.
 * @param ready waits until the page shows what the tests begin with.
 */
export function usePage(
  address: () => string,
  ready: () => Promise<unknown> = async () => {},
): () => Browser {
  const browser = useBrowser()
  beforeEach(async () => {
    page = await openCatalogue(browser(), address())
    await ready()
  })
  afterEach(() => page.context().close())
  return browser
}

export const button = (name: string) => page.getByRole('button', { name, exact: true })

/** The title of a book in the list, or an author. */
export const link = (name: string) => page.getByRole('link', { name, exact: true })

/** The button of the dialog for imports, whatever number it names. */
export const importButton = () => page.getByRole('button', { name: /^Import( [\d,]+ books?)?$/ })

export async function chooseInMenu(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Menu' }).click()
  await page.getByRole('navigation').getByRole('button', { name, exact: true }).click()
}

/** A field of the dialog that is open. */
export const field = (label: string) => page.getByRole('dialog').getByLabel(label)

export async function enterPassword(page: Page): Promise<void> {
  await page.getByLabel('Password', { exact: true }).fill(ACCOUNT.password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByLabel('Password', { exact: true }).waitFor({ state: 'hidden' })
}

/** The titles in sight, and some more, from the top. */
export const titles = (page: Page) =>
  page
    .locator('.row .title')
    .allTextContents()
    .then((all) => all.map((text) => text.trim()))

/**
 * Waits until the expression is true in the page. The policy of the page forbids `waitForFunction` to evaluate a text
 * more than once.
 */
export async function waitUntil(page: Page, expression: string): Promise<void> {
  for (
    const deadline = Date.now() + PATIENCE;
    !(await page.evaluate(expression));
    await page.waitForTimeout(30)
  )
    assert.ok(Date.now() < deadline, `not within ${PATIENCE} ms: ${expression}`)
}

/** How long it takes from now on until a timer fires that was made longer, in milliseconds. */
export const KEPT = 4 * PATIENCE

/** Keeps the notices that this page will show, because a busy machine may not get to their buttons in six seconds. */
export const keepNotices = (page: Page): Promise<void> => makeLonger(page, 6000)

/** Makes the timers longer that this page will set for this time, in milliseconds. After `page.clock.install`, if both. */
export async function makeLonger(page: Page, time: number): Promise<void> {
  await page.evaluate(`{
    const begin = setTimeout
    globalThis.setTimeout = (run, time, ...rest) => begin(run, time === ${time} ? ${KEPT} : time, ...rest)
  }`)
}

/**
 * From now on the timers that this page sets run only when the test lets time pass, with `page.clock.runFor`: also those
 * of axe-core, so `assertAccessible` would never end.
 */
export async function stopClock(page: Page): Promise<void> {
  await page.clock.install()
  // Not in the past, however long this takes.
  await page.clock.pauseAt(Date.now() + 60_000)
}

/** Waits until the titles in sight begin so. */
export async function waitForTitles(page: Page, expected: readonly string[]): Promise<void> {
  for (const deadline = Date.now() + PATIENCE; ; await page.waitForTimeout(30)) {
    const found = (await titles(page)).slice(0, expected.length)
    if (JSON.stringify(found) === JSON.stringify(expected)) return
    if (Date.now() > deadline) assert.deepEqual(found, expected)
  }
}

/**
 * Checks the page as it is with axe-core.
 * @param picture the name of a screenshot to keep.
 * @param rules by default those of WCAG 2.2 AA and good practice.
 */
export async function assertAccessible(
  page: Page,
  picture?: string,
  rules?: readonly string[],
): Promise<void> {
  if (picture !== undefined) await screenshot(page, picture)
  // Not as a script element, which the policy of the page forbids.
  if (!(await page.evaluate(`'axe' in globalThis`))) await page.evaluate(readFileSync(AXE, 'utf8'))
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) }
  const violations =
    await page.evaluate(`axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html, failureSummary }) => html + ' ' + failureSummary).join('; ')))`)
  assert.deepEqual(violations, [])
}

/** Keeps what is seen, if SCREENSHOTS names a directory. */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS === undefined) return
  mkdirSync(SCREENSHOTS, { recursive: true })
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`) })
}

/** A response of the service that its page does not get before the test releases it. */
interface HeldResponse {
  /** Once the service has answered. */
  readonly answered: Promise<void>
  /** Lets the response through, and waits until the page has had it, unless it had given up on it. */
  release(): Promise<void>
}

/** Holds the response to the next request with this method whose URL matches. */
export async function holdResponse(page: Page, method: string, pattern: RegExp): Promise<HeldResponse> {
  const answered = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const isHeld = (request: Request) => request.method() === method && pattern.test(request.url())
  const ended = new Promise((resolve) => {
    for (const event of ['requestfinished', 'requestfailed'] as const)
      page.on(event as 'requestfinished', (request) => isHeld(request) && resolve(undefined))
  })
  let isFirst = true
  await page.route(pattern, async (route) => {
    if (!isFirst || !isHeld(route.request())) return route.fallback()
    isFirst = false
    const response = await route.fetch()
    answered.resolve()
    await released.promise
    await route.fulfill({ response })
  })
  return {
    answered: answered.promise,
    async release() {
      released.resolve()
      await ended
      // What the page does with one response it has done before it gets the next.
      await page.evaluate(`fetch('/healthz').then((response) => response.text())`)
    },
  }
}
