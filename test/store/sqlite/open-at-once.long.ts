import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { it } from 'node:test'
import { newFile } from './file.ts'

const PROCESSES = 8
const ROUNDS = 30

/** Until every process has got its order, in milliseconds. */
const HEAD_START = 20

it('eight processes that open one new SQLite file at the same moment all work', async () => {
  using file = newFile()
  using processes = new DisposableStack()
  const openers = Array.from({ length: PROCESSES }, () => processes.use(startOpener()))
  const ids = openers.map((_, i) => String(i + 1))
  await Promise.all(openers.map(({ ready }) => ready))
  for (let round = 0; round < ROUNDS; round++) {
    const path = join(file.directory, `${round}.db`)
    const at = Date.now() + HEAD_START
    const responses = await Promise.all(openers.map(({ open }) => open(path, at)))
    assert.deepEqual(responses.toSorted(), ids, `round ${round}`)
  }
})

/** A process that opens the store when and where it is told, creates a book, closes, and answers the book's id. */
function startOpener() {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'opener.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const nextLine = async () => String((await lines.next()).value)
  return {
    ready: nextLine(),
    open: (path: string, at: number): Promise<string> => {
      child.stdin.write(`${JSON.stringify({ path, at })}\n`)
      return nextLine()
    },
    [Symbol.dispose]: () => child.kill(),
  }
}
