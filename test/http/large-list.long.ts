import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, describe, it } from 'node:test'
import { logIn } from '../support/client.ts'
import type { Databases } from '../support/database-server.ts'
import { ENGINES, type Engine, engineMissing, useDatabases } from '../support/engines.ts'
import { type Service, startService, temporaryDirectory } from '../support/service.ts'

/** How many books there are: on a server fewer, which is enough to see them in the memory if they are held. */
const BOOKS: Readonly<Record<Engine, number>> = { sqlite: 1_000_000, postgres: 300_000, mysql: 300_000 }

/** What the memory of the service may rise by while it answers, in bytes. */
const RISE = 64 * 1024 * 1024

const noProc = existsSync('/proc/self/statm') ? false : 'needs /proc to see the memory of another process'

for (const engine of ENGINES) {
  describe(`GET /books of many books on ${engine}`, { skip: noProc || engineMissing(engine) }, () => {
    largeList(engine, BOOKS[engine])
  })
}

/** In the SQL that all engines share. */
const FILL = (books: number) => `
  INSERT INTO books (title, author, year)
  WITH digit (d) AS (${Array.from({ length: 10 }, (_, d) => `SELECT ${d}`).join(' UNION ALL ')}),
    number (i) AS (
      SELECT a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d + 100000 * f.d
      FROM digit a, digit b, digit c, digit d, digit e, digit f
    )
  SELECT CONCAT('The title of book number ', i), CONCAT('Author ', i % 5000), i % 2000
  FROM number WHERE i < ${books}`

function largeList(engine: Engine, books: number): void {
  const directory = temporaryDirectory()
  let databases: Databases | undefined
  let url = 'sqlite:books.db'
  let service: Service
  let authorization: string

  // Before useDatabases, because what is registered first is done first.
  after(async () => {
    await service?.stop()
    await databases?.dropDatabase(url)
    directory.remove()
  })
  const getDatabases = engine === 'sqlite' ? undefined : useDatabases(engine)
  before(async () => {
    databases = await getDatabases?.()
    if (databases !== undefined) url = await databases.createDatabase()
    // The service makes the schema; the books are added behind its back, because that is fast.
    await (await startService(directory.path, { DB_URL: url })).stop()
    if (databases !== undefined) await databases.query(FILL(books), url)
    else {
      using database = new DatabaseSync(join(directory.path, 'books.db'))
      database.exec(FILL(books))
    }
    service = await startService(directory.path, { DB_URL: url })
    authorization = await logIn(service.url)
    // What any list needs is no part of the rise: code, and room for garbage.
    for (let i = 0; i < 50; i++)
      await (await fetch(`${service.url}/books?limit=1000`, { headers: { authorization } })).text()
  })

  /** Resident set size of the service in bytes. */
  function memory(): number {
    return Number(readFileSync(`/proc/${service.process.pid}/statm`, 'utf8').split(' ')[1]) * 4096
  }

  it('sends them all in order, keeps the memory flat, and answers single reads meanwhile', async () => {
    const idle = memory()
    let peak = idle
    let reads = 0
    let done = false
    const readSingly = async () => {
      while (!done) {
        const response = await fetch(`${service.url}/book/${reads + 1}`, { headers: { authorization } })
        await response.arrayBuffer()
        peak = Math.max(peak, memory())
        // Other programs may keep the service from the processors, and then it refuses for a moment.
        if (response.status === 503) continue
        assert.equal(response.status, 200)
        reads++
      }
    }
    const [ids] = await Promise.all([
      readIds(service.url, authorization).finally(() => {
        done = true
      }),
      readSingly(),
    ])
    assert.equal(ids.count, books)
    assert.ok(ids.ascending)
    assert.ok(reads > 20, `only ${reads} single reads were answered meanwhile`)
    assert.ok(peak - idle < RISE, `the memory rose by ${Math.round((peak - idle) / 1024 / 1024)} MiB`)
  })

  it('reads no further ahead than a client that stops reading takes', async () => {
    const idle = memory()
    const response = await open(service.url, authorization)
    response.pause()
    for (let i = 0; i < 50; i++)
      await (await fetch(`${service.url}/book/1`, { headers: { authorization } })).text()
    assert.ok(memory() - idle < RISE)
    response.destroy()
  })
}

function open(url: string, authorization: string): Promise<import('node:http').IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(`${url}/books`, { headers: { authorization } }, resolve).on('error', reject)
  })
}

/** Reads the list without holding it. @returns how many ids it had, and whether they ascended. */
async function readIds(url: string, authorization: string) {
  const response = await open(url, authorization)
  assert.equal(response.statusCode, 200)
  let [count, last, ascending, rest] = [0, 0, true, '']
  for await (const chunk of response.setEncoding('latin1')) {
    const text = rest + chunk
    const end = text.lastIndexOf('}') + 1
    for (const [, id] of text.slice(0, end).matchAll(/\{"id":(\d+),/g)) {
      if (Number(id) <= last) ascending = false
      last = Number(id)
      count++
    }
    rest = text.slice(end)
  }
  assert.equal(rest, '', 'the envelope is closed')
  return { count, ascending }
}
