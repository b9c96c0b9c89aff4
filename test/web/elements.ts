import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { ACCOUNT } from '../support/service.ts'
import { until } from '../support/until.ts'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

const { SCREENSHOTS } = process.env

/** How long the page may take for anything, in milliseconds: far more than it needs on a busy machine. */
export const PATIENCE = 30_000

/** What there is on the page of the catalogue, what people do with it, and what is checked there. */
export function elements(page: Page) {
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true })
  /** The title of a book in the list, or an author. */
  const link = (name: string) => page.getByRole('link', { name, exact: true })
  const dialog = () => page.getByRole('dialog')
  /** A field of the dialog that is open. */
  const field = (label: string) => dialog().getByLabel(label)
  /** The box that selects a book. */
  const box = (title: string) => page.getByRole('checkbox', { name: `Select “${title}”`, exact: true })
  const showsNoDialog = () => dialog().waitFor({ state: 'hidden' })
  /** The titles in sight, and some more, from the top. */
  const titles = async () => (await page.locator('.row .title').allTextContents()).map((text) => text.trim())

  async function logIn(): Promise<void> {
    await page.getByLabel('Username').fill(ACCOUNT.username)
    await enterPassword()
  }

  async function enterPassword(): Promise<void> {
    const password = page.getByLabel('Password', { exact: true })
    await password.fill(ACCOUNT.password)
    await button('Log in').click()
    await password.waitFor({ state: 'hidden' })
  }

  async function chooseInMenu(name: string): Promise<void> {
    await button('Menu').click()
    await page.getByRole('navigation').getByRole('button', { name, exact: true }).click()
  }

  /** Fills in fields of the dialog, by their labels. */
  async function fillIn(texts: Readonly<Record<string, string>>): Promise<void> {
    for (const [label, text] of Object.entries(texts)) await field(label).fill(text)
  }

  /** Opens a book, and fills in some of its fields. */
  async function openBook(title: string, texts: Readonly<Record<string, string>> = {}): Promise<void> {
    await link(title).click()
    await fillIn(texts)
  }

  /** Presses a button, and waits for what the page says then. */
  async function choose(name: string, says: string | RegExp): Promise<void> {
    await button(name).click()
    await page.getByText(says).waitFor()
  }

  /** Begins a new book. */
  async function addBook(texts: Readonly<Record<string, string>> = {}): Promise<void> {
    await button('Add book').click()
    await fillIn(texts)
  }

  /** Opens a book, and deletes it there. */
  async function deleteBook(title: string): Promise<void> {
    await link(title).click()
    await dialog().getByRole('button', { name: 'Delete', exact: true }).click()
  }

  /** Begins an import: the service checks the file. */
  async function chooseFile(content: string | Buffer, name = 'books.csv'): Promise<void> {
    if (!(await page.getByLabel('File').isVisible())) await chooseInMenu('Import…')
    const buffer = Buffer.from(content)
    await page.getByLabel('File').setInputFiles({ name, mimeType: 'text/csv', buffer })
  }

  /** Waits until the titles in sight begin so. */
  async function showsTitles(...expected: string[]): Promise<void> {
    let found = ''
    const isShown = async () => {
      found = String((await titles()).slice(0, expected.length))
      return found === String(expected)
    }
    await until(() => `${expected}, but ${found}`, isShown, PATIENCE)
  }

  /**
   * Waits until the expression is true in the page. The policy of the page forbids `waitForFunction` to evaluate a text
   * more than once.
   */
  const waitUntil = (expression: string) =>
    until(expression, () => page.evaluate<boolean>(expression), PATIENCE)

  /**
   * Checks with the rules of axe-core for WCAG 2.2 AA and good practice.
   * @param picture a screenshot to keep, if SCREENSHOTS names a directory.
   */
  async function assertAccessible(picture?: string): Promise<void> {
    if (picture !== undefined && SCREENSHOTS !== undefined)
      await page.screenshot({ path: join(SCREENSHOTS, `${picture}.png`) })
    // Not as a script element, which the policy of the page forbids.
    if (!(await page.evaluate(`'axe' in globalThis`))) await page.evaluate(readFileSync(AXE, 'utf8'))
    const violations =
      await page.evaluate(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
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

  return {
    ...{ assertAccessible, assertFits },
    ...{ button, link, dialog, field, box, titles, logIn, enterPassword, chooseInMenu },
    ...{ fillIn, openBook, addBook, deleteBook, chooseFile, showsTitles, waitUntil, choose, showsNoDialog },
    /** Waits for a text. */
    shows: (text: string | RegExp) => page.getByText(text).waitFor(),
    /** Waits for a text that is all of its element. */
    showsExactly: (text: string) => page.getByText(text, { exact: true }).waitFor(),
    hides: (text: string | RegExp) => page.getByText(text).waitFor({ state: 'hidden' }),
    /** Closes the dialog with Escape. */
    async escape(): Promise<void> {
      await page.keyboard.press('Escape')
      await showsNoDialog()
    },
    /** Closes the dialog with its button. */
    async cancel(): Promise<void> {
      await button('Cancel').click()
      await showsNoDialog()
    },
    /** Goes to an address, and waits for the titles that are listed there first. */
    async list(address: string, ...expected: string[]): Promise<void> {
      await page.goto(address)
      await showsTitles(...expected)
    },
    /** Types what to search for. @param expected the titles that are found first, which are waited for. */
    async search(text: string, ...expected: string[]): Promise<void> {
      await page.getByLabel('Search').fill(text)
      if (expected.length > 0) await showsTitles(...expected)
    },
    sortBy: (label: string) => page.getByLabel('Sort by').selectOption(label),
    selectAll: () => page.getByRole('checkbox', { name: 'Select all' }).click(),
    /** The button of the dialog for imports, whatever number it names. */
    importButton: () => page.getByRole('button', { name: /^Import( [\d,]+ books?)?$/ }),
    async keys(...keys: string[]): Promise<void> {
      for (const key of keys) await page.keyboard.press(key)
    },
    /** Whether an element is wholly in the window. */
    isInSight: (selector: string) =>
      waitUntil(`{
        const { top, bottom } = document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect()
        top >= 0 && bottom <= innerHeight
      }`),
    /** Where the page scrolls as a whole, or the list in it. */
    scrollTo: (top: number) => page.locator('.rows').evaluate((rows, top) => rows.scrollTo(0, top), top),
  }
}
