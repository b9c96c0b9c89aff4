import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import type { Store } from '../../../src/catalogue/store.ts'
import { applySettings } from '../../../src/store/client-server/settle.ts'
import { PostgresDriver } from '../../../src/store/postgres/driver.ts'
import { parsePostgresUrl } from '../../../src/store/postgres/url.ts'
import { readRows, serverMissing, startServer, until, untilUnused } from '../../faults/engine-servers.ts'
import type { DatabaseServer } from '../../support/database-server.ts'
import { nameIn } from '../../support/database-url.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { pgbouncerMissing, startPgbouncer } from '../../support/pgbouncer.ts'
import { inGroups, listAll, plain } from '../pages.ts'
import { prepareDatabase, refusal } from './prepared-database.ts'
import { GORM } from './tables-of-others.ts'

/** What the configuration of a server may set for each connection, to the harm of this service; and what it has then. */
const POSTGRES = [
  ['client_encoding = LATIN1', 'UTF8'],
  ['array_nulls = off', 'on'],
  ['quote_all_identifiers = on', 'off'],
  ['default_transaction_isolation = serializable', 'serializable'],
  ['synchronous_commit = off', 'on'],
  ['gin_fuzzy_search_limit = 1', '0'],
  ['standard_conforming_strings = off', 'on'],
] as const
const MYSQL = [
  `SET NAMES latin1, sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES', autocommit = 0, completion_type = CHAIN,
    sql_select_limit = 1, max_join_size = 1, sql_safe_updates = 1, tx_isolation = SERIALIZABLE`,
  'SET sql_select_limit = 0',
]

const TITLES = ['García Márquez 📚', "\\'", 'NULL', 'Ёлки']
const BOOKS = TITLES.map((title, i) => ({ title, author: 'José', year: i }))

/** The only book that is left, as the database has it. */
const REST = { title: 'É', author: 'NULL', year: 9 }

/** Does everything that a store is for. */
async function useStore(store: Store): Promise<void> {
  const created = await Promise.all(BOOKS.map((book) => store.create(book)))
  assert.deepEqual(created.map(({ title }) => title).sort(), TITLES.toSorted())
  // Several at once are one transaction.
  const updated = await Promise.all(created.map(({ id, year }) => store.update(id, { year: year + 1 })))
  assert.deepEqual(
    plain(updated),
    created.map((book) => ({ ...book, year: book.year + 1 })),
  )
  for (const book of updated)
    assert.deepEqual({ ...(await store.update(Number(book?.id), {}, book)) }, { ...book })
  assert.deepEqual(plain(await Promise.all(created.map(({ id }) => store.find(id)))), plain(updated))
  const books = [...BOOKS.map((book) => ({ ...book, year: book.year + 1 })), REST]
  assert.deepEqual(await store.import(inGroups(books), { skipExisting: true }), {
    added: 1,
    skipped: BOOKS.length,
  })
  assert.deepEqual((await listAll(store)).map(({ title }) => title).sort(), [...TITLES, 'É'].sort())
  for (const words of [['garcia'], ['елки']]) assert.equal(await store.count({ words }), 1)
  assert.equal(await store.count({ words: ['jose'] }), BOOKS.length)
  const page = await store.page({ filter: {}, order: [{ name: 'author', descending: false }] }, undefined, {
    books: 3,
    text: 1000,
  })
  assert.equal(page.count, 3)
  assert.ok(page.more)
  await Promise.all(created.map(({ id }) => store.delete(id)))
}

it('a connection that is lost while it gets its settings says so, and nothing that follows from it', async () => {
  const lost = new Error('it stops')
  const refuse = (error: Error) => () => Promise.reject(error)
  const [read, set] = [refuse(new Error('the connection is closed')), refuse(lost)]
  const meaningOf = () => ({ outcome: 'lost' }) as const
  let reads = 0
  const variables = {
    read: () => (reads++ === 0 ? Promise.resolve(new Map([['a', '1']])) : read()),
    set,
    meaningOf,
  }
  await assert.rejects(applySettings({ a: 2 }, variables), lost)
})

it('a setting that the server refuses is named with its reason', async () => {
  const cause = new Error('a is protected')
  const variables = {
    read: async () => new Map([['a', '1']]),
    set: () => Promise.reject(cause),
    meaningOf: () => ({ outcome: 'refused' }) as const,
  }
  await assert.rejects(applySettings({ a: 2 }, variables), { message: 'a is 1 and has to be 2', cause })
})

describe('a server of PostgreSQL that sets something for each connection', {
  skip: engineMissing('postgres'),
}, () => {
  const databases = useDatabases('postgres')

  it('is used as any other, with what this service needs instead', async (t) => {
    const { url, open, run, query } = await prepareDatabase(t, databases, (name) =>
      POSTGRES.map(([setting]) => `ALTER ROLE ${name} SET ${setting}`),
    )
    await useStore(await open())
    const [row] = await query('SELECT title, author, year::int FROM books')
    assert.deepEqual(row, REST)
    // This, too, waits for the disk.
    const remoteApply = ['synchronous_commit = remote_apply', 'remote_apply'] as const
    for (const [setting, found] of [...POSTGRES, remoteApply]) {
      await run(`ALTER ROLE ${nameIn(url)} SET ${setting}`)
      const driver = new PostgresDriver(parsePostgresUrl(url, {}))
      const client = await driver.connect()
      const { rows } = await client.query(`SHOW ${setting.split(' ')[0]}`)
      await driver.end(client)
      assert.deepEqual(rows.map(Object.values), [[found]], setting)
    }
  })

  it('is refused through a pooler, with the statement that helps', { skip: pgbouncerMissing }, async (t) => {
    const server = await databases()
    const pooler = await startPgbouncer(server)
    const { url, open, run } = await prepareDatabase(
      t,
      async () => pooler,
      (name) => [`ALTER ROLE ${name} SET array_nulls = off`],
    )
    t.after(() => pooler.remove())
    const says = await refusal(open)
    const [, statement] = /array_nulls is off and has to be on, .*: (ALTER ROLE .*;)$/.exec(says) ?? []
    assert.ok(statement !== undefined, says)
    await until('no connection is left', async () =>
      (await pooler.command('SHOW CLIENTS')).every(({ user }) => user !== nameIn(url)),
    )
    await run(statement)
    await pooler.command(`RECONNECT ${nameIn(url)}`)
    await useStore(await open())
  })
})

describe('a server of MySQL that sets something for each connection', {
  skip: serverMissing('mysql'),
}, () => {
  let started: Promise<DatabaseServer> | undefined
  const server = () => {
    const settings = {
      // The clients' charset is what the server says, whatever they say.
      'skip-character-set-client-handshake': '1',
      'character-set-server': 'latin1',
      'innodb-default-row-format': 'compact',
      // Ids have gaps.
      'auto-increment-increment': '3',
      'auto-increment-offset': '2',
    }
    started ??= startServer('mysql', { settings })
    return started
  }
  after(async () => (await started)?.remove())

  for (const [init, table] of [
    [MYSQL[0], []],
    [MYSQL[1], [GORM.mysql]],
  ] as const)
    it(`is used as any other: ${init}, ${table}`, async (t) => {
      const on = await server()
      // Does not apply to an administrator.
      await on.query(`SET GLOBAL init_connect = "${init}"`)
      // Prepared statements may not report either that a transaction was rolled back.
      await on.query('SET GLOBAL max_prepared_stmt_count = 0')
      const database = await prepareDatabase(t, server, () => table)
      const store = await database.open()
      await useStore(store)
      const [row] = await database.query('SELECT HEX(title) AS title, author, year FROM books')
      assert.deepEqual(row, { ...REST, title: Buffer.from(REST.title).toString('hex').toUpperCase() })
      const created = plain(await Promise.all(Array.from({ length: 64 }, () => store.create(REST))))
      const ids = created.map(({ id }) => id)
      assert.ok(ids.every((id, i) => id % 3 === 2 && (i === 0 || id > Number(ids[i - 1]))))
      assert.deepEqual((await readRows(on, database.url)).slice(1), created)
      assert.deepEqual(database.reports, [])
    })

  it('is refused with the name of what cannot be set, and its value', async (t) => {
    const on = await startServer('mysql', { settings: { 'maximum-max-sort-length': '1024' } })
    const { open, url } = await prepareDatabase(t, async () => on)
    t.after(() => on.remove())
    assert.match(await refusal(open), /max_sort_length is 1024 and has to be 4096/)
    await untilUnused(on, url)
  })
})
