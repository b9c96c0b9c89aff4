/** A service whose end waits for a thread in a statement of SQLite that takes minutes. It says when it is so far. */
import { Worker } from 'node:worker_threads'
import fastify from 'fastify'
import { stopOnSignal } from '../../src/http/graceful-shutdown.ts'

const STATEMENT = `
  WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000000000)
  SELECT sum(n) FROM numbers`
const CODE = `
  const { DatabaseSync } = require('node:sqlite')
  require('node:worker_threads').parentPort.postMessage('begun')
  new DatabaseSync(':memory:').exec(${JSON.stringify(STATEMENT)})`

const app = fastify()
await app.ready()
const ended = Promise.withResolvers<void>()
stopOnSignal(app.log, () => ended.promise)
const thread = new Worker(CODE, { eval: true })
thread.once('exit', () => ended.resolve())
thread.once('message', () => process.stdout.write('begun\n'))
