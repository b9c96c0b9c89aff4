import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Crowd } from '../support/crowd.ts'
import { head } from '../support/raw-socket.ts'
import { startedAsNpm } from '../support/started-as-npm.ts'
import { type ServiceInUse, useService } from '../support/use-service.ts'
import { withstand } from '../support/withstand.ts'

const MIB = 1024 * 1024

/** The requests of the client beside an attack that are answered in time. */
const IN_TIME = ['read', 'write', 'query', 'health'] as const

/** The most processor time that the service takes before a response to the client beside an attack, in milliseconds. */
const SLOWEST = 5000

/** How long an attack may take to show an effect, in milliseconds. */
const PATIENCE = 90_000

const skip = existsSync('/proc/self/status') ? false : 'needs /proc to see the memory of another process'

const service = useService((started) => started.createBook(), startedAsNpm())

/** Waits for an effect of the attack, which without a defence never comes: then the memory tells. */
async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + PATIENCE
  while (!condition() && Date.now() < deadline) await setTimeout(20)
}

const begun = (size: number) => `{"title":"${'x'.repeat(size - 11)}`

describe('bodies that do not end', { skip }, () => {
  it('of logins of a megabyte, without a token, are refused', async (t) => {
    const many = 1000
    const text = head('POST /token', `Content-Length: ${MIB}`) + begun(MIB)
    await withstand(t, service, IN_TIME, SLOWEST, async () => {
      using crowd = new Crowd()
      await crowd.join(service.url, many, (socket) => socket.write(text))
      await until(() => crowd.statuses().get(413) === many)
      await setTimeout(1000)
      t.diagnostic(JSON.stringify([...crowd.statuses()]))
    })
  })

  it('of books, without a token, are dropped until the client is cut', async (t) => {
    const many = 20
    const text = head('POST /book', `Content-Length: ${1024 * MIB}`)
    const chunk = Buffer.alloc(64 * 1024, 'x')
    await withstand(t, service, IN_TIME, SLOWEST, async () => {
      using crowd = new Crowd()
      await crowd.join(service.url, many, (socket) => {
        const send = () => {
          while (socket.writable && socket.write(chunk));
        }
        socket.write(text)
        socket.on('drain', send)
        send()
      })
      await until(() => crowd.open === 0)
      assert.equal(crowd.statuses().get(401), many)
    })
  })

  it('of books of a megabyte are read as long as there is room, and the others refused', async (t) => {
    const many = 1000
    const room = 64
    const fields = [`Authorization: ${service.token}`, `Content-Length: ${MIB}`]
    const text = head('POST /book', ...fields) + begun(MIB)
    await withstand(t, service, IN_TIME, SLOWEST, async () => {
      using crowd = new Crowd()
      await crowd.join(service.url, many, (socket) => socket.write(text))
      const refused = () => crowd.statuses().get(503) ?? 0
      await until(() => refused() > many - 2 * room)
      await setTimeout(500)
      t.diagnostic(`${refused()} of ${many} were refused`)
      assert.ok(refused() > many - 2 * room && refused() <= many - room / 2, `${refused()} refused`)
    })
  })

  it('leave room for others when they are gone', async () => {
    const title = 'x'.repeat(MIB - 100)
    for (let i = 0; i < 70; i++) await service.createBook({ title, author: 'A', year: i })
  })
})

/** What the service logs when it needs the memory of a response for others, or has none for a new one. */
const CUT_OR_REFUSED = /"a client was cut that did not take its response"|"status":503/g

describe('clients that do not take their lists', { skip }, () => {
  const many = 120
  const slow = useService(importList, { ...startedAsNpm(), LOG_LEVEL: 'debug' })

  it(`hold a bounded part of them in memory, and others get theirs: ${many}`, async (t) => {
    const request = head('GET /books', `Authorization: ${slow.token}`)
    await withstand(t, slow, IN_TIME, SLOWEST, async () => {
      using crowd = new Crowd()
      for (let i = 0; i < many; i += 10) {
        await crowd.join(slow.url, 10, (socket) => socket.write(request), false)
        await setTimeout(100)
      }
      const count = () => slow.output().match(CUT_OR_REFUSED)?.length ?? 0
      await until(() => count() >= 20)
      t.diagnostic(`${count()} were cut or refused`)
      let response: Response
      do {
        response = await fetch(`${slow.url}/books`, { headers: { authorization: slow.token } })
        // The attack may have made the service late, which it tells; then a polite client tries again.
      } while (response.status === 503 && (await setTimeout(1000, true)))
      assert.equal(((await response.json()) as { data: unknown[] }).data.length, SMALL_BOOKS + BOOKS)
    })
  })
})

const BOOKS = 40
const SMALL_BOOKS = 25

/** A list of 16 MB: more than what the system takes for a client that does not read. */
async function importList(started: ServiceInUse): Promise<void> {
  const { url, token } = started
  // The polite client reads pages of these.
  for (let i = 0; i < SMALL_BOOKS; i++) await started.createBook()
  const title = 'x'.repeat(400_000)
  const lines = Array.from({ length: BOOKS }, (_, year) => JSON.stringify({ title, author: 'A', year }))
  const headers = { authorization: token, 'content-type': 'application/x-ndjson' }
  const response = await fetch(`${url}/books/import`, { method: 'POST', headers, body: lines.join('\n') })
  assert.equal(response.status, 200)
}
