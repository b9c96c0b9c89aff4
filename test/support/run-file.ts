import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { processTree, signalAll } from './process-tree.ts'

/** How long one test may take, in milliseconds. */
const TEST_LIMIT = 150_000

/** How long after the end of a file its output may still come, in milliseconds. */
const OUTPUT_TIME = 5000

/** How a failed test is reported, and its name. */
export const FAILED_TEST = /^ *✖ (.*) \([\d.]+ms\)/m

export interface FileResult {
  readonly file: string
  /** Milliseconds, as `performance.now()`. */
  readonly begin: number
  readonly end: number
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
 * has started are killed. The runner that dies takes them with it: `end-with-runner.ts`.
 * @param file its path below the root.
 */
export async function runFile(
  file: string,
  { root, limit, nodeOptions = [], variables = {}, endsEarly = false }: RunOptions,
): Promise<FileResult> {
  const begin = performance.now()
  const options = [
    `--import=${join(import.meta.dirname, 'end-with-runner.ts')}`,
    `--test-timeout=${TEST_LIMIT}`,
    '--test-force-exit',
    '--test-reporter=spec',
    ...nodeOptions,
  ]
  const child = spawn(process.execPath, [...options, file], {
    cwd: root,
    env: { ...process.env, ...variables },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk) => {
      output += chunk
      if (endsEarly && pid !== undefined && FAILED_TEST.test(output)) endFile(pid)
    })
  const { pid } = child
  if (pid === undefined) throw new Error(`${process.execPath} cannot be started`)
  running.add(pid)
  let isLate = false
  const late = setTimeout(() => {
    isLate = true
    endFile(pid)
  }, limit)
  const closed = once(child, 'close')
  const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  clearTimeout(late)
  endFile(pid)
  running.delete(pid)
  // A process that has left the group may hold the other end.
  const open = setTimeout(() => [child.stdout, child.stderr].map((stream) => stream?.destroy()), OUTPUT_TIME)
  await closed
  clearTimeout(open)
  const count = (name: string) =>
    Number(Array.from(output.matchAll(new RegExp(`^ℹ ${name} (\\d+)$`, 'gm'))).at(-1)?.[1] ?? 0)
  return {
    file,
    begin,
    end: performance.now(),
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

/** Kills all processes of the files that run. */
export function endFiles(): void {
  for (const pid of running) endFile(pid)
}

function endFile(pid: number): void {
  // Servers lead groups of their own.
  signalAll(processTree(pid), 'SIGKILL')
  signalAll([-pid], 'SIGKILL')
}
