// Puts mistakes into src and web, one at a time, and reports which of them no test catches:
//   npm run test:mutations -- [options] [files or folders of src and web]
//   --count N   how many mistakes (100 by default)
//   --seed N    which of all candidates (1 by default)
//   --only ID   one mistake again, by the id that a run has printed
//   --list      only list the candidates
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { availableParallelism } from 'node:os'
import { basename, extname, join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { SERVER_VARIABLES, startSharedServer } from '../support/engines.ts'
import { endFiles, FAILED_TEST, runFile, share } from '../support/run-file.ts'
import { temporaryDirectory } from '../support/service.ts'
import { type Coverage, hasRun, readCoverage } from './coverage.ts'
import { allMutants, type Mutant, testRows, unobservableOf } from './mutants.ts'

const ROOT = join(import.meta.dirname, '../..')

/** What of the project is not copied. */
const OUTSIDE = ['.git', 'node_modules', 'data', '.env']

/** How many mistakes are tried at the same time: tests wait for more than they compute. */
const AT_ONCE = availableParallelism() + 2

/** How long a file of tests may take when nothing is wrong, in milliseconds. */
const PATIENCE = 300_000

/** A file of tests that passes when nothing is wrong. */
interface TestFile {
  readonly file: string
  /** How long it takes, in milliseconds. */
  readonly time: number
  readonly coverage: Coverage
}

const rows = testRows()
const started = new AsyncDisposableStack()
let isInterrupted = false
process.once('SIGINT', () => {
  isInterrupted = true
  endFiles()
})

async function main(): Promise<void> {
  const needed = new Set(chosen.map(rowOf))
  process.env.ENGINES = [...new Set([...needed].flatMap(({ engines }) => engines.split(',')))].join(',')
  if (process.env.ENGINES !== 'sqlite') await startServers()
  const copies = Array.from({ length: AT_ONCE }, copyOfProject)
  const tests = await testsThatPass([...new Set([...needed].flatMap(({ tests }) => filesOf(tests)))], copies)
  let caught = 0
  await share(chosen, copies, async (mutant, copy) => {
    if (isInterrupted) return
    const reaching = testsThatReach(mutant, tests)
    const failure = await failureOf(mutant, reaching, copy)
    if (isInterrupted) return
    if (failure !== undefined) caught++
    const survival = `SURVIVED ${reaching.length} files of tests: ${mutant.line}`
    process.stdout.write(`${mutant.id}: ${failure ?? survival}\n`)
  })
  if (isInterrupted) process.exitCode = 1
  else process.stdout.write(`The tests caught ${caught} of ${chosen.length} mistakes.\n`)
}

/** Runs each file once without a mistake, in a copy, to see how long it takes and what it reaches. */
async function testsThatPass(files: readonly string[], copies: readonly string[]): Promise<TestFile[]> {
  const passing: TestFile[] = []
  await share(files, copies, async (file, root) => {
    if (isInterrupted) return
    const directory = temporaryDirectory()
    const variables = {
      NODE_V8_COVERAGE: directory.path,
      NODE_OPTIONS: `--import=${join(root, 'test/mutations/take-coverage.ts')}`,
      // Code from the compile cache is not covered exactly.
      NODE_COMPILE_CACHE: '',
    }
    const { time, failure } = await runFile(file, { ...optionsOf(file, root), limit: PATIENCE, variables })
    if (failure === undefined) passing.push({ file, time, coverage: readCoverage(directory.path) })
    else process.stdout.write(`${file} fails without a mistake, and is left out.\n${failure}\n`)
    directory.remove()
  })
  return passing.toSorted((a, b) => a.time - b.time)
}

/** @returns those that reach the place of the mistake: first its namesakes, then the fastest. */
function testsThatReach(mutant: Mutant, tests: readonly TestFile[]): TestFile[] {
  const { file, offset } = mutant
  const named = new Set(filesOf(rowOf(mutant).tests))
  const text = readFileSync(join(ROOT, file), 'utf8')
  const isNamesake = (test: TestFile) => basename(test.file).startsWith(basename(file, extname(file)))
  return tests
    .filter((test) => named.has(test.file) && hasRun(test.coverage, file, text, offset))
    .sort((a, b) => Number(isNamesake(b)) - Number(isNamesake(a)))
}

/** @returns what fails because of the mistake, if anything does. */
async function failureOf(
  { file, mutated }: Mutant,
  tests: readonly TestFile[],
  root: string,
): Promise<string | undefined> {
  const original = readFileSync(join(root, file), 'utf8')
  writeFileSync(join(root, file), mutated)
  try {
    for (const test of tests) {
      const limit = 3 * test.time + 30_000
      const { failure, output } = await runFile(test.file, {
        ...optionsOf(test.file, root),
        limit,
        endsEarly: true,
      })
      if (failure !== undefined) return `${test.file} (${FAILED_TEST.exec(output)?.[1] ?? 'has no end'})`
    }
    return undefined
  } finally {
    writeFileSync(join(root, file), original)
  }
}

const optionsOf = (file: string, root: string) => ({
  root,
  nodeOptions: file.startsWith('test/spec/') ? ['--import=./test/mutations/start-service.ts'] : [],
})

function copyOfProject(): string {
  const { path, remove } = temporaryDirectory()
  started.defer(remove)
  const filter = (source: string) => source === ROOT || !OUTSIDE.includes(basename(source))
  cpSync(ROOT, path, { recursive: true, filter })
  symlinkSync(join(ROOT, 'node_modules'), join(path, 'node_modules'))
  return path
}

async function startServers(): Promise<void> {
  for (const engine of ['postgres', 'mysql'] as const) {
    if (process.env[SERVER_VARIABLES[engine]] !== undefined) continue
    const server = await startSharedServer(engine)
    started.defer(() => server.remove())
    process.env[SERVER_VARIABLES[engine]] = server.url
  }
}

/** The most specific row of the table in CONTRIBUTING.md. */
function rowOf({ file }: Mutant) {
  const [row] = rows.filter(({ path }) => file.startsWith(path)).sort((a, b) => b.path.length - a.path.length)
  if (row === undefined) throw new Error(`CONTRIBUTING.md names no tests for ${file}`)
  return row
}

const filesOf = (tests: readonly string[]) =>
  tests.flatMap((path) => globSync(path.endsWith('.ts') ? path : `${path}/*.test.ts`, { cwd: ROOT }).sort())

function choose(): Mutant[] {
  if (options.only !== undefined) return candidates.filter(({ id }) => id === options.only)
  const unobservable = unobservableOf(candidates)
  const isThere = ({ file }: Mutant) =>
    paths.length === 0 || paths.some((path) => `${file}/`.startsWith(`${path}/`))
  const ranked = candidates
    .filter((mutant) => !unobservable.has(mutant) && isThere(mutant))
    .map((mutant) => ({
      mutant,
      rank: createHash('sha256').update(`${options.seed} ${mutant.id}`).digest('hex'),
    }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .map(({ mutant }) => mutant)
  return options.list ? ranked : ranked.values().filter(compiles).take(Number(options.count)).toArray()
}

function compiles({ mutated }: Mutant): boolean {
  const directory = temporaryDirectory()
  try {
    const file = join(directory.path, 'mutant.mjs')
    writeFileSync(file, stripTypeScriptTypes(mutated))
    return spawnSync(process.execPath, ['--check', file]).status === 0
  } catch {
    return false
  } finally {
    directory.remove()
  }
}

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    count: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string' },
    list: { type: 'boolean' },
  },
})
const paths = positionals.map((path) => relative(ROOT, resolve(path)))
const candidates = allMutants()
const chosen = choose()
if (chosen.length === 0) throw new Error('there is no such candidate')
if (options.list) process.stdout.write(chosen.map(({ id, line }) => `${id}  ${line}\n`).join(''))
else
  try {
    await main()
  } finally {
    await started.disposeAsync()
  }
