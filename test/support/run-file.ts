import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { processTree, signalAll } from './process-tree.ts'
import { temporaryDirectory } from './service.ts'

/** How long one test may take, in milliseconds. */
const TEST_LIMIT = 150_000

/** How often it is looked whether a file has to end, in milliseconds. */
const WATCH_INTERVAL = 200

/** How a failed test is reported, and its name. */
export const FAILED_TEST = /^ *✖ (.*) \([\d.]+ms\)/m

export interface FileResult {
  readonly file: string
  /** How long it took, in milliseconds. */
  readonly time: number
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  /** What to tell about the tests that failed, or why the file did not end as it should. */
  readonly failure: string | undefined
  /** All that it has written. */
  readonly output: string
}

/** The processes of the files that run. */
const running = new Set<number>()

interface RunOptions {
  readonly root: string
  /** How long the file may take, in milliseconds. */
  readonly limit: number
  /** For Node.js, beside those of every file. */
  readonly nodeOptions?: readonly string[]
  /** Beside those of this process, or instead of them. */
  readonly variables?: Readonly<Record<string, string>>
  /** Whether the first test that fails ends it. */
  readonly endsEarly?: boolean
}

/**
 * Runs a file of tests in a process group of its own. When the file ends, or its time is over, all processes that it
 * has started are killed.
 * @param file its path below the root.
 */
export async function runFile(
  file: string,
  { root, limit, nodeOptions = [], variables = {}, endsEarly = false }: RunOptions,
): Promise<FileResult> {
  const begin = performance.now()
  // Node.js writes to a file at once. What it has yet to write to a pipe, a forced exit loses.
  const directory = temporaryDirectory()
  const path = join(directory.path, 'output')
  const written = openSync(path, 'w')
  const options = [
    `--test-timeout=${TEST_LIMIT}`,
    '--test-force-exit',
    '--test-reporter=spec',
    ...nodeOptions,
  ]
  const child = spawn(process.execPath, [...options, file], {
    cwd: root,
    env: { ...process.env, ...variables },
    detached: true,
    stdio: ['ignore', written, written],
  })
  closeSync(written)
  const { pid } = child
  if (pid === undefined) throw new Error(`${process.execPath} cannot be started`)
  running.add(pid)
  let isLate = false
  const watch = setInterval(() => {
    isLate ||= performance.now() - begin > limit
    if (isLate || (endsEarly && FAILED_TEST.test(readFileSync(path, 'utf8')))) endFile(pid)
  }, WATCH_INTERVAL)
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  clearInterval(watch)
  endFile(pid)
  running.delete(pid)
  const output = readFileSync(path, 'utf8')
  directory.remove()
  const count = (name: string) =>
    Number(Array.from(output.matchAll(new RegExp(`^ℹ ${name} (\\d+)$`, 'gm'))).at(-1)?.[1] ?? 0)
  return {
    file,
    time: performance.now() - begin,
    passed: count('pass'),
    failed: count('fail') + count('cancelled'),
    skipped: count('skipped'),
    failure: failureOf(),
    output,
  }

  function failureOf(): string | undefined {
    if (isLate) return `${output}\n${file} had not ended after ${limit / 1000} s, and was killed`
    if (code === 0) return undefined
    const told = output.split('✖ failing tests:').at(-1) ?? output
    return signal === null ? told : `${output}\n${file} was ended by ${signal}`
  }
}

/** Does something with each item in turn, as many at a time as there are workers. */
export async function share<Item, Worker>(
  items: readonly Item[],
  workers: readonly Worker[],
  use: (item: Item, worker: Worker) => Promise<void>,
): Promise<void> {
  const rest = items.values()
  const work = async (worker: Worker) => {
    for (const item of rest) await use(item, worker)
  }
  await Promise.all(workers.map(work))
}

/** Kills all processes of the files that run. */
export function endFiles(): void {
  for (const pid of running) endFile(pid)
}

function endFile(pid: number): void {
  // Servers lead groups of their own.
  signalAll(processTree(pid), 'SIGKILL')
  signalAll([-pid], 'SIGKILL')
}
