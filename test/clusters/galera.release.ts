import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { RowDataPacket } from 'mysql2/promise'
import type { Book } from '../../src/catalogue/book.ts'
import { MysqlDriver } from '../../src/store/mysql/driver.ts'
import { parseMysqlUrl } from '../../src/store/mysql/url.ts'
import { Caller, SOON } from '../faults/caller.ts'
import { serve, until } from '../faults/engine-servers.ts'
import { raiseYears } from '../faults/racing.ts'
import { engineMissing } from '../support/engines.ts'
import { type ChaosEvent, isFull, repeat, severalHosts, surviveChaos } from './chaos.ts'
import { type GaleraNode, galeraMissing, startGalera } from './galera-cluster.ts'

const FIELDS = ['title', 'author', 'year'] as const

/** Changes of each field, and increments through each instance. */
const [CHANGES, INCREMENTS] = [1000, 334]

/** How often each event happens under load. */
const [KILLS, STOPS, FREEZES] = isFull ? [20, 5, 5] : [2, 1, 1]

/** How long a node is down, and how long one stands still; milliseconds. */
const [DOWN, FREEZE] = [4000, isFull ? 40_000 : 10_000]

/** A busy machine needs some minutes; in milliseconds. */
const options = { timeout: isFull ? 3_600_000 : 600_000 }

describe('a Galera cluster', {
  skip: engineMissing('mysql') || galeraMissing,
}, () => {
  let nodes: readonly GaleraNode[] = []
  before(async () => {
    nodes = await startGalera()
  }, options)
  after(() => Promise.all(nodes.map((node) => node.remove())))

  it('is not used through a node that has left it, whatever DB_URL asks for', async () => {
    const [left = assert.fail(), other = assert.fail()] = nodes
    const database = await other.createDatabase()
    const hosts = [left, other].map(({ port }) => `127.0.0.1:${port}`)
    const isolate = (value: number) =>
      left.query(`SET GLOBAL wsrep_provider_options = 'gmcast.isolate=${value}'`)
    const isReady = async () => (await left.query("SHOW STATUS LIKE 'wsrep_ready'"))[0]?.Value === 'ON'
    await isolate(1)
    try {
      await until('the node has left', async () => !(await isReady()))
      for (const attrs of ['any', 'read-write', 'prefer-standby']) {
        const url = severalHosts(hosts, `?target_session_attrs=${attrs}`)(database)
        const driver = new MysqlDriver(parseMysqlUrl(url))
        const connection = await driver.connect()
        const [rows] = await connection.query<RowDataPacket[]>('SELECT @@port AS port')
        await driver.end(connection)
        assert.equal(rows[0]?.port, other.port, attrs)
      }
    } finally {
      await isolate(0)
      await until('the node is back', isReady)
    }
  })

  it('keeps every acknowledged change of a book, and every increment with If-Match', options, async (t) => {
    // A node may not know yet what was acknowledged on another, which makes it harder to keep everything. Each client
    // therefore uses one node, and the end is read when all nodes have caught up.
    const syncWait = (value: number) =>
      Promise.all(nodes.map((node) => node.query(`SET GLOBAL wsrep_sync_wait = ${value}`)))
    await syncWait(0)
    t.after(() => syncWait(7))
    const { clients, id, stored } = await start(t)
    const conflictsBefore = await conflicts()
    await Promise.all(
      clients.map(async (client, i) => {
        const field = FIELDS[i] ?? 'title'
        for (let n = 1; n <= CHANGES; n++) {
          const change = { [field]: field === 'year' ? n : String(n) }
          const written = await client.recovers<Book>(`PUT /book/${id}`, change)
          assert.equal(Number(written[field]), n, 'the response lacks the change')
          const read = await client.recovers<Book>(`GET /book/${id}`)
          assert.equal(Number(read[field]), n, 'the change is acknowledged, and not stored')
        }
      }),
    )
    for (const book of await stored())
      assert.deepEqual(book, { title: String(CHANGES), author: String(CHANGES), year: CHANGES })
    assert.ok((await conflicts()) > conflictsBefore, 'there was no conflict: nothing is shown')

    const { edited, refused } = await raiseYears(clients, [id], INCREMENTS)
    // Of two acknowledged increments from one year, one is lost.
    assert.equal(new Set(edited.map(({ year }) => year)).size, edited.length)
    for (const { year } of await stored()) {
      // Some that were refused may be stored: not those that were rolled back, but those that took too long.
      const more = year - CHANGES - edited.length
      assert.ok(more >= 0 && more <= refused, `${year} after ${edited.length} increments`)
    }
  })

  /** Starts an instance on each node, on a new database with one book. */
  async function start(t: TestContext) {
    const [first = assert.fail()] = nodes
    const url = await first.createDatabase()
    const clients: Caller[] = []
    for (const node of nodes) {
      await node.catchUp()
      clients.push(new Caller(await serve(t, node.at(url), { STORE_TIMEOUT: SOON })))
    }
    const id = (await clients[0]?.create()) ?? assert.fail()
    for (const node of nodes) await node.catchUp()
    /** The book as each node has it in the end. */
    const stored = () =>
      Promise.all(
        nodes.map(async (node) => {
          await node.catchUp()
          const [row] = await node.query('SELECT title, author, year FROM books', url)
          return { ...(row as unknown as Book) }
        }),
      )
    return { clients, id, stored }
  }

  /** How often nodes have rolled a write back because of another node. */
  async function conflicts(): Promise<number> {
    const names = "'wsrep_local_bf_aborts', 'wsrep_local_cert_failures'"
    const rows = await Promise.all(
      nodes.map((node) => node.query(`SHOW GLOBAL STATUS WHERE variable_name IN (${names})`)),
    )
    return rows.flat().reduce((sum, { Value: value }) => sum + Number(value), 0)
  }

  const whole = () =>
    until('all nodes are one cluster', async () =>
      (await Promise.all(nodes.map((node) => isInCluster(node).catch(() => false)))).every(Boolean),
    )

  const isInCluster = async (node: GaleraNode) => {
    await node.catchUp()
    const [size] = await node.query("SHOW STATUS LIKE 'wsrep_cluster_size'")
    return Number(size?.Value) === nodes.length
  }

  /** The node that services have the most connections to. */
  const inUse = async () => {
    const sql = "SELECT count(*) AS count FROM information_schema.processlist WHERE user LIKE 'books_%'"
    const used = await Promise.all(
      nodes.map(async (node) => ({ node, count: Number((await node.query(sql))[0]?.count) })),
    )
    return used.toSorted((a, b) => b.count - a.count)[0]?.node ?? assert.fail()
  }

  const stop = (how: 'clean' | 'kill'): ChaosEvent => ({
    name: how === 'kill' ? 'kill -9 of the node' : 'clean stop of the node',
    run: async () => {
      const node = await inUse()
      await node.stop(how)
      await setTimeout(DOWN)
      await node.start()
      await whole()
    },
  })

  const freeze: ChaosEvent = {
    name: 'freeze of the node',
    run: async () => {
      const node = await inUse()
      node.freeze()
      await setTimeout(FREEZE)
      node.thaw()
      await whole()
    },
  }

  for (const [title, events] of Object.entries({
    kills: repeat(KILLS, () => stop('kill')),
    'clean stops': repeat(STOPS, () => stop('clean')),
    freezes: repeat(FREEZES, () => freeze),
  }))
    it(`survives ${title} of the node in use, under load`, options, (t) => {
      const [databases = assert.fail()] = nodes
      const dbUrl = severalHosts(nodes.map(({ host, port }) => `${host}:${port}`))
      return surviveChaos(t, { databases, dbUrl, events })
    })
})
