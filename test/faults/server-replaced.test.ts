import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { ServerEngine } from '../support/database-server.ts'
import { nameIn } from '../support/database-url.ts'
import { Caller } from './caller.ts'
import { onEachServer, serve } from './engine-servers.ts'

/** Statements that replace a database with an empty one, which belongs to the same user. */
const REPLACE: Readonly<Record<ServerEngine, (name: string) => string[]>> = {
  postgres: (name) => [`DROP DATABASE ${name} WITH (FORCE)`, `CREATE DATABASE ${name} OWNER ${name}`],
  mysql: (name) => [`DROP DATABASE ${name}`, `CREATE DATABASE ${name}`],
}

onEachServer(
  'a database that was replaced with an empty one',
  (server, engine) => {
    for (const [what, line, body] of [
      ['read', 'GET /books'],
      ['write', 'POST /book', { title: 'T', author: 'A', year: 1 }],
      ['search', 'GET /books?q=t'],
    ] as const) {
      it(`is used by the next ${what}, without a restart of the service`, async (t) => {
        const url = await server().createDatabase()
        const caller = new Caller(await serve(t, url))
        await caller.create()
        for (const sql of REPLACE[engine](nameIn(url))) await server().query(sql)
        await caller.ok(line, body)
        await caller.create()
        assert.equal((await caller.ok<object[]>('GET /books?q=t')).length, what === 'write' ? 2 : 1)
      })
    }
  },
  { concurrency: true },
)
