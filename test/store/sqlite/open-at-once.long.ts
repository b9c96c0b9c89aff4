import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { it } from 'node:test'
import { newFile } from './file.ts'

const PROCESSES = 8
const ROUNDS = 10

/** Opens the store at each path that it reads, creates a book, and writes its id. */
const OPENER = `
  import { createInterface } from 'node:readline'
  import { openStore } from ${JSON.stringify(resolve(import.meta.dirname, '../../../src/store/open.ts'))}
  console.log('ready')
  for await (const path of createInterface(process.stdin)) {
    const store = await openStore({ engine: 'sqlite', path })
    console.log((await store.create({ title: 'T', author: 'A', year: 1 })).id)
    await store.close()
  }`

it('eight processes that open one new SQLite file at the same moment all work', async () => {
  using file = newFile()
  using processes = new DisposableStack()
  const script = join(file.directory, 'opener.mjs')
  writeFileSync(script, OPENER)
  const openers = Array.from({ length: PROCESSES }, () => {
    const child = spawn(process.execPath, [script], { stdio: ['pipe', 'pipe', 'inherit'] })
    processes.defer(() => child.kill())
    return { input: child.stdin, lines: createInterface(child.stdout)[Symbol.asyncIterator]() }
  })
  const said = () => Promise.all(openers.map(async ({ lines }) => String((await lines.next()).value)))
  await said()
  const ids = openers.map((_, i) => String(i + 1))
  for (let round = 0; round < ROUNDS; round++) {
    for (const { input } of openers) input.write(`${join(file.directory, String(round))}.db\n`)
    assert.deepEqual((await said()).toSorted(), ids, `round ${round}`)
  }
})
