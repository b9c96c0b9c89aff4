// Runs files of tests, each in a process of its own that ends with all that it has started:
//   run.ts KIND [options] [files or folders]   *.KIND.ts, such as *.test.ts
//   --at-once N   how many files run at the same time
//   --limit N     how many seconds a file may take (300 by default)
//   --verbose     prints what files without a failure have written, too
import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { globalSetup, globalTeardown } from './global-setup.ts'
import { endFiles, type FileResult, runFile, share } from './support/run-file.ts'

const ROOT = join(import.meta.dirname, '..')

/** @returns whether no test failed. */
async function main(): Promise<boolean> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'at-once': { type: 'string', default: String(availableParallelism() + 2) },
      limit: { type: 'string', default: '300' },
      verbose: { type: 'boolean', default: false },
    },
  })
  const [kind = 'test', ...paths] = positionals
  const files = filesOf(kind, paths.length > 0 ? paths : ['test'])
  const limit = Number(values.limit) * 1000
  // Those of the page wait most of the time, so they begin first, beside others that compute.
  const waiting = files.toSorted((a, b) => Number(isOfPage(b)) - Number(isOfPage(a)))
  const results: FileResult[] = []
  if (kind !== 'release' && files.some((file) => file.startsWith('test/'))) await globalSetup()
  const workers = Array(Number(values['at-once'])).fill(0)
  await share(waiting, workers, async (file) => {
    const result = await runFile(file, { root: ROOT, limit })
    results.push(result)
    print(result, values.verbose)
  })
  const failed = results.filter(({ failure }) => failure !== undefined)
  for (const { file, output } of failed) {
    const names = new Set(
      Array.from(output.matchAll(/^ *✖ (.*) \([\d.]+ms\)$/gm), ([, name]) => `\n    ${name}`),
    )
    process.stdout.write(`✖ ${file}${[...names].join('')}\n`)
  }
  const sum = (of: 'passed' | 'failed' | 'skipped') =>
    results.reduce((total, result) => total + result[of], 0)
  const unfinished = failed.filter((result) => result.failed === 0).length
  process.stdout.write(
    `${sum('passed')} passed, ${sum('failed') + unfinished} failed, ${sum('skipped')} skipped\n`,
  )
  return failed.length === 0 && results.length === files.length
}

function print({ file, time, passed, failed, skipped, failure, output }: FileResult, all: boolean) {
  const counts = [`${passed} passed`, failed > 0 && `${failed} failed`, skipped > 0 && `${skipped} skipped`]
  const mark = failure === undefined ? '✔' : '✖'
  process.stdout.write(
    `${mark} ${file}: ${counts.filter(Boolean).join(', ')} (${(time / 1000).toFixed(1)} s)\n`,
  )
  if (failure !== undefined) process.stdout.write(`${failure}\n`)
  else if (all) process.stdout.write(`${output}\n`)
  else for (const [, reason] of output.matchAll(/^﹣ (.*)$/gm)) process.stdout.write(`  skipped: ${reason}\n`)
}

const isOfPage = (file: string) => file.startsWith('test/web/')

function filesOf(kind: string, paths: readonly string[]): string[] {
  const named = paths.map((path) => relative(ROOT, resolve(path)))
  const patterns = named.map((path) => (path.endsWith('.ts') ? path : join(path, `**/*.${kind}.ts`)))
  const files = globSync(patterns, { cwd: ROOT, exclude: ['**/node_modules'] }).sort()
  if (files.length === 0) throw new Error(`there are no such tests: ${named.join(' ')}`)
  return files
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    endFiles()
    globalTeardown().finally(() => process.exit(1))
  })
}
try {
  process.exitCode = (await main()) ? 0 : 1
} finally {
  await globalTeardown()
}
