import { existsSync } from 'node:fs'
import { after, before } from 'node:test'
import { type Browser, chromium } from 'playwright-core'

/** Chromium's executable: from the setting CHROMIUM, which must then be right, or where Debian puts it. */
const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'

/** Why the tests in a browser cannot run, or false if they can. */
export const browserMissing =
  process.env.CHROMIUM === undefined && !existsSync(executablePath)
    ? 'no browser: install Chromium, or name its executable in CHROMIUM'
    : false

/** Chromium without a window, kept from asking for anything in the network by itself. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/**
 * To be called in a file or a `describe`.
 * @returns a function that returns a browser, from before the tests there until after them.
 */
export function useBrowser(): () => Browser {
  let browser: Browser | undefined
  before(async () => {
    browser = await launchBrowser()
  })
  after(() => browser?.close())
  return () => {
    if (browser === undefined) throw new Error('the browser has not been started yet')
    return browser
  }
}
