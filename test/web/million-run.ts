import { createWriteStream } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Browser, CDPSession, Page } from 'playwright-core'
import { readCount } from '../faults/options.ts'
import { launchBrowser } from '../support/browser.ts'
import { logIn, untilIndexed } from '../support/client.ts'
import { runCommand } from '../support/command.ts'
import { ACCOUNT, startService, temporaryDirectory } from '../support/service.ts'
import { openPage } from './page.ts'

const USAGE = `Measures the web page in Chromium with a catalogue of many books on SQLite.

npm run test:web-million -- [--books N]      (1,000,000 by default)
`

const FIRST = [
  'Quiet',
  'Golden',
  'Hidden',
  'Broken',
  'Silver',
  'Distant',
  'Burning',
  'Winter',
  'Crimson',
  'Lost',
]
const SECOND = [
  'Garden',
  'River',
  'Empire',
  'Lantern',
  'Mirror',
  'Harbour',
  'Orchard',
  'Compass',
  'Tower',
  'Letter',
]
const NAMES = [
  'Adler',
  'Brandt',
  'Castillo',
  'Dubois',
  'Eriksen',
  'Fontana',
  'Grabowski',
  'Haddad',
  'Ivanova',
]

/** What is typed, a letter at a time is too fast for anybody: each word at once, as the last letter of it. */
const TYPED = [
  'quiet',
  'river',
  'golden em',
  'brandt',
  'mirror 77',
  'haddad',
  'winter',
  'compass 1237',
  'lett',
  'g',
  'tower dubois',
]

/** How far the list is scrolled, in books, and where the memory is read. */
const [SCROLLED, READINGS] = [40_000, 5]

/** A phone of the middle and its network, as Lighthouse has them: bytes a second, milliseconds, times slower. */
const SLOW = { throughput: (1.6 * 1024 * 1024) / 8, latency: 150, processor: 4 }

const count = readCount(USAGE, 'books', 1_000_000)
const say = (name: string, value: string) => process.stdout.write(`${`${name}:`.padEnd(52)}${value}\n`)
const milliseconds = (value: number) => `${Math.round(value)} ms`

const directory = temporaryDirectory()
const load = loadavg().map((value) => value.toFixed(2))
say('processors; load of the machine at the start', `${cpus().length}; ${load.join(' ')}`)
const file = join(directory.path, 'books.csv')
await pipeline(Readable.from(rows()), createWriteStream(file))
const settings = { DB_URL: 'sqlite:books.db' }
const [imported, importTime] = await timed(() => runCommand(directory.path, settings, 'import', file))
if (imported.code !== 0) throw new Error(imported.stderr)
say(`import of ${count.toLocaleString('en')} books`, milliseconds(importTime))

const service = await startService(directory.path)
const browser = await launchBrowser()
try {
  await measure(service.url, browser)
} finally {
  await browser.close()
  await service.stop()
  directory.remove()
}

async function measure(url: string, browser: Browser): Promise<void> {
  say('until the index has followed', milliseconds(await indexTime(url)))
  for (const isSlow of [false, true]) await firstVisit(browser, url, isSlow)
  const page = await openPage(browser, url)
  page.setDefaultTimeout(60_000)
  say('list on screen after the log-in', milliseconds(await logInTime(page)))
  await typing(page)
  await page.getByLabel('Search').fill('')
  await memory(page)
  await scrollbar(page)
  say('memory after that', await heap(await performanceOf(page)))
  await charts(page)
}

/** Titles of three parts, the last one a number, so that there are frequent and rare words. */
function* rows(): Generator<string> {
  yield 'title,author,year\n'
  for (let i = 0; i < count; i++) {
    const [first, second] = [FIRST[i % 10], SECOND[Math.floor(i / 10) % 10]]
    const author = `${NAMES[i % 9]} ${Math.floor(i / 100) % 500}`
    yield `${first} ${second} ${i},${author},${1500 + (i % 525)}\n`
  }
}

async function timed<T>(work: () => Promise<T>): Promise<[T, number]> {
  const start = performance.now()
  return [await work(), performance.now() - start]
}

async function indexTime(url: string): Promise<number> {
  const token = await logIn(url)
  const [, time] = await timed(() => untilIndexed(url, token))
  return time
}

/** What a browser that has nothing of the page yet loads, and when it can be used. */
async function firstVisit(browser: Browser, url: string, isSlow: boolean): Promise<void> {
  const page = await openPage(browser, 'about:blank')
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  if (isSlow) {
    const { throughput, latency, processor } = SLOW
    await session.send('Network.emulateNetworkConditions', {
      offline: false,
      latency,
      downloadThroughput: throughput,
      uploadThroughput: throughput,
    })
    await session.send('Emulation.setCPUThrottlingRate', { rate: processor })
  }
  let [requests, bytes] = [0, 0]
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    requests++
    bytes += encodedDataLength
  })
  await page.addInitScript(`
    globalThis.longTasks = []
    new PerformanceObserver((list) => longTasks.push(...list.getEntries())).observe({ type: 'longtask', buffered: true })`)
  await page.goto(url)
  await page.getByLabel('Username').waitFor()
  const ready = (await page.evaluate('performance.now()')) as number
  // Long enough for a long task to be told.
  await page.waitForLoadState('networkidle')
  const [painted, busy] = (await page.evaluate(`[
    performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0,
    Math.max(0, ...longTasks.map(({ startTime, duration }) => startTime + duration)),
  ]`)) as [number, number]
  const where = isSlow ? 'first visit, slow phone' : 'first visit'
  say(`${where}: requests, compressed bytes`, `${requests}, ${bytes.toLocaleString('en')}`)
  say(`${where}: first paint`, milliseconds(painted))
  say(`${where}: can be used, no long task after`, milliseconds(Math.max(ready, busy)))
  await page.context().close()
}

async function logInTime(page: Page): Promise<number> {
  await page.getByLabel('Username').fill(ACCOUNT.username)
  await page.getByLabel('Password', { exact: true }).fill(ACCOUNT.password)
  return (await page.evaluate(`new Promise((resolve) => {
    const start = performance.now()
    document.querySelector('#login button').click()
    const look = () => document.querySelector('.row .title button') ? resolve(performance.now() - start) : requestAnimationFrame(look)
    look()
  })`)) as number
}

/** From the last letter until the list shows what was searched for. */
async function typing(page: Page): Promise<void> {
  const times: number[] = []
  for (const text of TYPED) {
    const time = await page.evaluate(`new Promise((resolve) => {
      const input = document.querySelector('label.q input')
      const words = ${JSON.stringify(text.split(' '))}
      const start = performance.now()
      input.value = ${JSON.stringify(text)}
      input.dispatchEvent(new InputEvent('input', { bubbles: true }))
      const begins = words.map((word) => new RegExp('\\\\b' + word, 'i'))
      const shown = () => {
        const rows = [...document.querySelectorAll('.row')].slice(0, 8)
        return rows.length > 0 && rows.every((row) => begins.every((begin) => begin.test(row.textContent)))
      }
      if (shown()) throw new Error('The list before has the same words')
      const look = () => shown() ? resolve(performance.now() - start) : requestAnimationFrame(look)
      requestAnimationFrame(look)
    })`)
    times.push(time as number)
  }
  const sorted = times.toSorted((a, b) => a - b)
  say('from typing to the answer: median', milliseconds(sorted[sorted.length >> 1] ?? 0))
  say(
    'from typing to the answer: each',
    TYPED.map((text, i) => `${text} ${Math.round(times[i] ?? 0)}`).join(', '),
  )
}

async function performanceOf(page: Page): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page)
  await session.send('Performance.enable')
  return session
}

async function memory(page: Page): Promise<void> {
  const session = await performanceOf(page)
  await page.getByText(`${count.toLocaleString('en')} books`).waitFor()
  say('memory at the first book', await heap(session))
  for (let reading = 1; reading <= READINGS; reading++) {
    const until = Math.min((SCROLLED / READINGS) * reading, count)
    await page.evaluate(`new Promise((resolve) => {
      const rows = document.querySelector('.rows')
      const go = () => {
        if (Number([...document.querySelectorAll('.row')].at(-1).ariaRowIndex) > ${until}) return resolve()
        if (document.querySelector('.row.loading') === null) rows.scrollBy(0, rows.clientHeight)
        requestAnimationFrame(go)
      }
      go()
    })`)
    say(`memory at book ${until.toLocaleString('en')}`, await heap(session))
  }
}

/** How long it takes until the books are there to which the scrollbar is dragged. */
async function scrollbar(page: Page): Promise<void> {
  for (const share of [0.05, 0.5, 1]) {
    const [row, time] = await timed(() =>
      page.evaluate(`new Promise((resolve) => {
        const rows = document.querySelector('.rows')
        rows.scrollTop = ${share} * rows.scrollHeight
        const look = () => {
          const last = Number([...document.querySelectorAll('.row:not(.loading)')].at(-1)?.ariaRowIndex) - 1
          if (last >= ${Math.floor(share * count)}) resolve(last)
          else requestAnimationFrame(look)
        }
        requestAnimationFrame(look)
      })`),
    )
    say(`scrollbar to ${Math.round(share * 100)} % of the list`, `${milliseconds(time)}, book ${row}`)
  }
}

/** Of what is in use: what only waits to be collected does not count. */
async function heap(session: CDPSession): Promise<string> {
  await session.send('HeapProfiler.collectGarbage')
  const { metrics } = await session.send('Performance.getMetrics')
  const value = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? Number.NaN
  return `${(value('JSHeapUsedSize') / 1e6).toFixed(1)} MB of scripts, ${value('Nodes')} nodes`
}

async function charts(page: Page): Promise<void> {
  const [, time] = await timed(async () => {
    await page.getByText('Statistics').click()
    await page.locator('.decades canvas').waitFor()
  })
  say('charts after they are opened', milliseconds(time))
}
