import { existsSync } from 'node:fs'
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
