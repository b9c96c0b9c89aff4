import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Crowd } from '../support/crowd.ts'
import { head } from '../support/raw-socket.ts'
import { startedAsNpm } from '../support/started-as-npm.ts'
import { until } from '../support/until.ts'
import { useService } from '../support/use-service.ts'
import { withstand } from './polite-client.ts'

const MIB = 1024 * 1024

const BOUNDS = { read: 5000, write: 5000, query: 5000, health: 5000 }

const skip = existsSync('/proc/self/status') ? false : 'needs /proc to see the memory of another process'

const service = useService((started) => started.createBook(), startedAsNpm())

/** Waits for an effect of the attack, which without a defence never comes: then the memory tells. */
const patiently = (isThere: () => boolean) => until('the defence works', isThere, 90_000).catch(() => {})

it('bodies of books that do not end are read as long as there is room, the others refused, and there is room again when they are gone', {
  skip,
}, async (t) => {
  const [many, room] = [1000, 64]
  const fields = [`Authorization: ${service.token}`, `Content-Length: ${MIB}`]
  const begun = head('POST /book', ...fields) + `{"title":"`.padEnd(MIB - 1, 'x')
  await withstand(t, service, BOUNDS, async () => {
    using crowd = new Crowd()
    await crowd.join(service.url, many, (socket) => socket.write(begun))
    const refused = () => crowd.statuses().get(503) ?? 0
    // On a slow machine, bodies that take too long are refused as such, and others have their room.
    const least = many - 4 * room
    await patiently(() => refused() > least)
    assert.ok(refused() > least && refused() <= many - room / 2, `${refused()} refused`)
  })
  const title = 'x'.repeat(MIB - 100)
  for (let i = 0; i < 70; i++) await service.createBook({ title })
})

/** What the service logs when it needs the memory of a response for others, or has none for a new one. */
const CUT_OR_REFUSED = /"a client was cut that did not take its response"|"status":503/g

describe('clients that do not take their lists', { skip }, () => {
  // A list of 16 MB: more than what the system takes for a client that does not read.
  const books = Array.from({ length: 40 }, (_, year) => ({ title: 'x'.repeat(400_000), author: 'A', year }))
  const slow = useService(
    async (started) => {
      await started.createBook()
      await started.importBooks(books)
    },
    { ...startedAsNpm(), LOG_LEVEL: 'debug' },
  )

  it('hold a bounded part of them in memory, and others get theirs', async (t) => {
    const request = head('GET /books', `Authorization: ${slow.token}`)
    await withstand(t, slow, BOUNDS, async () => {
      using crowd = new Crowd()
      for (let i = 0; i < 120; i += 10) {
        await crowd.join(slow.url, 10, (socket) => socket.write(request), false)
        await setTimeout(100)
      }
      await patiently(() => (slow.output().match(CUT_OR_REFUSED)?.length ?? 0) >= 20)
      let response: Response
      do {
        response = await fetch(`${slow.url}/books`, { headers: { authorization: slow.token } })
        // The attack may have made the service late, which it tells; then a polite client tries again.
      } while (response.status === 503 && (await setTimeout(1000, true)))
      assert.equal(((await response.json()) as { data: unknown[] }).data.length, 1 + books.length)
    })
  })
})
