import { existsSync } from 'node:fs'
import { after, before } from 'node:test'
import { type Browser, chromium } from 'playwright-core'

/** Where Debian puts Chromium. The first one never has a window, and needs less time. */
const INSTALLED = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium']

/** Chromium's executable: from the setting CHROMIUM, which must then be right, or one that is installed. */
const executablePath = process.env.CHROMIUM ?? INSTALLED.find(existsSync)

/** Why the tests in a browser cannot run, or false if they can. */
export const browserMissing =
  executablePath === undefined ? 'no browser: install Chromium, or name its executable in CHROMIUM' : false

/**
 * To be called in a file or a `describe`.
 * @returns a function that returns Chromium without a window, from before the tests there until after them.
 */
export function useBrowser(): () => Browser {
  let browser: Browser | undefined
  before(async () => {
    const executable = executablePath !== undefined && { executablePath }
    browser = await chromium.launch({ ...executable, args: ['--disable-gpu', '--disable-quic'] })
  })
  after(() => browser?.close())
  return () => {
    if (browser === undefined) throw new Error('the browser has not been started yet')
    return browser
  }
}
