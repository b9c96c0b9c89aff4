import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { useBrowser } from '../support/browser.ts'
import { elements, PATIENCE } from './elements.ts'
import { timing } from './timing.ts'

/** A page of Playwright with what tests find, do and check on the page of the catalogue. */
export type CataloguePage = ReturnType<typeof equip>

/** Adds them to a page that was opened in another way. */
const equip = (page: Page) => Object.assign(page, elements(page), timing(page))

/**
 * A page of a person of their own: nothing is shared with the others. Errors, also of the policy, end the test. It lists
 * the oldest books first, in the order in which a test adds them, unless the address says what it lists.
 */
export async function openPage(
  browser: Browser,
  url: string,
  options: BrowserContextOptions = {},
): Promise<CataloguePage> {
  const viewport = { width: 1100, height: 800 }
  const context = await browser.newContext({ viewport, bypassCSP: false, ...options })
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
  return equip(page)
}

/** Opens the page and logs in. The options are those of `openPage`. */
export async function openCatalogue(...options: Parameters<typeof openPage>): Promise<CataloguePage> {
  const page = await openPage(...options)
  await page.logIn()
  return page
}

/** Another tab of the same browser. @param act opens it; by default this does, at an address. */
export async function openTab(of: Page, act: string | (() => Promise<unknown>)): Promise<CataloguePage> {
  if (typeof act === 'string') {
    const tab = await of.context().newPage()
    await tab.goto(act)
    return equip(tab)
  }
  const [tab] = await Promise.all([of.context().waitForEvent('page'), act()])
  return equip(tab)
}

/** As `useBrowser`. The pages that a test opens are closed after it. */
export function usePages(): () => Browser {
  const browser = useBrowser()
  afterEach(() =>
    Promise.all(
      browser()
        .contexts()
        .map((context) => context.close()),
    ),
  )
  return browser
}

/** The page of the test that runs, in a suite that calls `usePage`. */
export let page: CataloguePage

/**
 * To be called in a `describe`: for each test a person of their own opens the page and logs in.
 * @param address where, once the service has been started.
 * @param titles of the books that are listed first.
 */
export function usePage(address: () => string, ...titles: string[]): () => Browser {
  const browser = usePages()
  beforeEach(async () => {
    page = await openCatalogue(browser(), address())
    await page.showsTitles(...titles)
  })
  return browser
}

/** Books with the titles “Volume 0”, “Volume 1” and so on. */
export const series = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ title: `Volume ${i}`, author: 'Series', year: 2000 }))

/** A file with books of an author, whose titles are the author's name with 0, 1 and so on. */
export const rowsOf = (author: string, rows: number) =>
  ['title,author,year', ...Array.from({ length: rows }, (_, i) => `${author} ${i},${author},${i}`)].join('\n')

/** The requests that check a file, and those that import it. */
export const [CHECK, IMPORT] = [/dry_run=true/, /dry_run=false/]

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
