/** A process that opens the store when and where each line of its input says, creates a book, and answers its id. */
import { createInterface } from 'node:readline'
import { parseDbUrl } from '../../../src/store/db-url.ts'
import { openStore } from '../../../src/store/open.ts'

const say = (line: string | number) => process.stdout.write(`${line}\n`)

say('ready')
for await (const order of createInterface(process.stdin)) {
  const { path, at } = JSON.parse(order)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, at - Date.now())
  try {
    const store = await openStore(parseDbUrl(`sqlite:${path}`))
    say((await store.create({ title: 'T', author: 'A', year: 1 })).id)
    await store.close()
  } catch (error) {
    say(String(error))
  }
}
