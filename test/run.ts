import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { globalSetup, globalTeardown } from './global-setup.ts'
import { endFiles, type FileResult, runFile } from './support/run-file.ts'
import { watchForStalls } from './support/stalls.ts'

const USAGE = `Runs files of tests, each in a process of its own that ends with all that it has started.

npm test -- [options] [files or folders]             *.test.ts
npm run test:faults -- [options] [files or folders]  *.long.ts

  --at-once N   how many files run at the same time
  --limit N     how many seconds a file may take (300 by default)
  --verbose     prints what files without a failure have written, too
`

const ROOT = join(import.meta.dirname, '..')

const stalls = watchForStalls()

/** @returns whether no test failed. */
async function main(): Promise<boolean> {
  const { kind, values, files } = readOptions()
  const limit = Number(values.limit ?? 300) * 1000
  // Those of the page wait most of the time, so they begin first, beside others that compute.
  const waiting = files.toSorted((a, b) => Number(isOfPage(b)) - Number(isOfPage(a)))
  const results: FileResult[] = []
  if (kind !== 'release' && files.some((file) => file.startsWith('test/'))) await globalSetup()
  const runner = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const result = await runFile(file, { root: ROOT, limit })
      results.push(result)
      print(result, values.verbose ?? false)
    }
  }
  const atOnce = Number(values['at-once'] ?? availableParallelism() + 2)
  await Promise.all(Array.from({ length: atOnce }, runner))
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
  process.stdout.write(`${stalls.summary()}\n`)
  process.stdout.write(
    `${sum('passed')} passed, ${sum('failed') + unfinished} failed, ${sum('skipped')} skipped\n`,
  )
  return failed.length === 0 && results.length === files.length
}

function print({ file, begin, end, passed, failed, skipped, failure, output }: FileResult, all: boolean) {
  const counts = [`${passed} passed`, failed > 0 && `${failed} failed`, skipped > 0 && `${skipped} skipped`]
  const time = `${((end - begin) / 1000).toFixed(1)} s`
  const mark = failure === undefined ? '✔' : '✖'
  process.stdout.write(`${mark} ${file}: ${counts.filter(Boolean).join(', ')} (${time})\n`)
  if (failure !== undefined) process.stdout.write(`${failure}\n${stalls.during(begin, end)}\n`)
  else if (all) process.stdout.write(`${output}\n`)
  else for (const [, reason] of output.matchAll(/^﹣ (.*)$/gm)) process.stdout.write(`  skipped: ${reason}\n`)
}

const isOfPage = (file: string) => file.startsWith('test/web/')

function readOptions() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      'at-once': { type: 'string' },
      limit: { type: 'string' },
      verbose: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  const [kind = 'test', ...paths] = positionals
  if (values.help) throw new WrongCommand('')
  for (const name of ['at-once', 'limit'] as const)
    if (!/^[1-9]\d*$/.test(values[name] ?? '1')) throw new WrongCommand(`--${name} is a number from 1\n`)
  const named = (paths.length > 0 ? paths : ['test']).map((path) => relative(ROOT, resolve(path)))
  const patterns = named.map((path) => (path.endsWith('.ts') ? path : join(path, `**/*.${kind}.ts`)))
  const files = globSync(patterns, { cwd: ROOT, exclude: ['**/node_modules'] }).sort()
  if (files.length === 0) throw new WrongCommand(`there are no such tests: ${named.join(' ')}\n`)
  return { kind, values, files }
}

class WrongCommand extends Error {}

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    endFiles()
    globalTeardown().finally(() => process.exit(1))
  })
}
try {
  process.exitCode = (await main()) ? 0 : 1
} catch (error) {
  process.exitCode = 1
  if (!(error instanceof WrongCommand)) throw error
  process.stderr.write(`${error.message}${USAGE}`)
} finally {
  stalls.end()
  await globalTeardown()
}
