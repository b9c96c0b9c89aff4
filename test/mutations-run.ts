import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { basename, dirname, extname, join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { unobservableOf } from './mutations-unobservable.ts'
import { SERVER_VARIABLES, startSharedServer } from './support/engines.ts'
import { allMutants, type Mutant, testRows } from './support/mutants.ts'
import { temporaryDirectory } from './support/service.ts'

const USAGE = `Puts mistakes into src and web, one at a time, and reports which of them no test catches.

npm run test:mutations -- [options] [files or folders of src and web]

  --count N     how many mistakes (20 by default)
  --seed N      which of all candidates, so that a run can be repeated (random by default)
  --only ID     one mistake again, by the id that a run has printed
  --list        only list the candidates
`

const ROOT = join(import.meta.dirname, '..')

/** What of the project is not copied. */
const OUTSIDE = ['.git', 'node_modules', 'data', '.env']

/** How long the tests of one file may take, in milliseconds; with a mistake, they may have no end. */
const PATIENCE = 180_000

/** How a failed test is reported, and its name. */
const FAILED = /^ *not ok \d+ - (?!.*\.(?:test|long)\.ts\n)(.*)\n/m

interface Suite {
  readonly files: readonly string[]
  readonly engines: string
  /** Whether it fails even without a mistake. */
  isBroken: boolean
  /** The files in which it has caught a mistake in this run. */
  readonly caught: Set<string>
}

const { options, paths } = readOptions()
const candidates = allMutants()
const unobservable = unobservableOf(candidates)
const suites = new Map<string, Suite>()
const seed = Number(options.seed ?? Math.floor(Math.random() * 2 ** 31))
const chosen = choose()
let killTests = () => {}
let isInterrupted = false
process.once('SIGINT', () => {
  isInterrupted = true
  killTests()
})
if (options.list) process.stdout.write(chosen.map(({ id, line }) => `${id}  ${line}\n`).join(''))
else await run()

async function run(): Promise<void> {
  const scratch = temporaryDirectory()
  const servers = []
  try {
    cpSync(ROOT, scratch.path, {
      recursive: true,
      filter: (path) => path === ROOT || !OUTSIDE.includes(basename(path)),
    })
    symlinkSync(join(ROOT, 'node_modules'), join(scratch.path, 'node_modules'))
    mkdirSync(join(scratch.path, 'tmp'))
    if (chosen.some(({ file }) => suitesOf(file).some(({ engines }) => engines !== 'sqlite')))
      for (const engine of ['postgres', 'mysql'] as const)
        if (process.env[SERVER_VARIABLES[engine]] === undefined) {
          const server = await startSharedServer(engine)
          servers.push(server)
          process.env[SERVER_VARIABLES[engine]] = server.url
        }
    process.stdout.write(`${candidates.length} candidates; seed ${seed}\n`)
    const results: string[] = []
    for (const mutant of chosen) {
      const caughtBy = compiles(mutant, scratch.path) ? await test(mutant, scratch.path) : 'SKIPPED'
      if (isInterrupted) break
      results.push(caughtBy)
      process.stdout.write(`${mutant.id}: ${caughtBy}${caughtBy === 'SURVIVED' ? `: ${mutant.line}` : ''}\n`)
    }
    const survivors = results.filter((result) => result === 'SURVIVED').length
    const tried = results.filter((result) => result !== 'SKIPPED').length
    process.stdout.write(`Of ${tried} mistakes, the tests caught ${tried - survivors}.\n`)
    if (survivors > 0) process.exitCode = 1
  } finally {
    for (const server of servers) await server.remove()
    scratch.remove()
  }
}

/** @returns the tests that fail because of the mistake, or SURVIVED. */
async function test({ file, mutated }: Mutant, scratch: string): Promise<string> {
  const original = readFileSync(join(scratch, file), 'utf8')
  for (const suite of suitesOf(file)) {
    if (suite.isBroken || isInterrupted) continue
    writeFileSync(join(scratch, file), mutated)
    const failure = await failureOf(suite, scratch)
    writeFileSync(join(scratch, file), original)
    if (failure === undefined) continue
    // On a busy machine, tests may also fail without a mistake.
    const usual = await failureOf(suite, scratch)
    if (usual === undefined) {
      suite.caught.add(file)
      return failure
    }
    suite.isBroken = true
    process.stdout.write(`${usual} fails without a mistake, and is left out.\n`)
  }
  return 'SURVIVED'
}

/** @returns what failed, or undefined if nothing did. */
async function failureOf({ files, engines }: Suite, cwd: string): Promise<string | undefined> {
  const setup = files[0]?.startsWith('test/spec/') ? ['--test-global-setup=test/global-setup.ts'] : []
  const args = ['--test', '--test-reporter=tap', '--test-concurrency=2', ...setup, ...files]
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ENGINES: engines },
    stdio: ['ignore', 'pipe', 'ignore'],
    detached: true,
  })
  const exit = Promise.withResolvers<string | undefined>()
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (chunk) => {
    output += chunk
    if (FAILED.test(output)) exit.resolve('a failure')
  })
  killTests = () => {
    try {
      process.kill(-(child.pid ?? Number.NaN), 'SIGKILL')
    } catch {
      // All of the group have ended.
    }
  }
  const timer = setTimeout(() => exit.resolve('no end'), PATIENCE)
  child.on('error', exit.reject).on('exit', (code) => exit.resolve(code === 0 ? undefined : 'a failure'))
  const failure = await exit.promise
  clearTimeout(timer)
  // A failing test may have left services behind.
  killTests()
  if (failure === undefined) return undefined
  const failed = FAILED.exec(output)?.[1]
  return `${files.length === 1 ? files[0] : dirname(files[0] ?? '')} (${failed ?? failure})`
}

/** The tests that CONTRIBUTING.md names, most promising first: those of the same name, and those that caught a mistake. */
function suitesOf(file: string): Suite[] {
  const [row] = testRows()
    .filter(({ path }) => file.startsWith(path))
    .sort((a, b) => b.path.length - a.path.length)
  if (row === undefined) throw new Error(`CONTRIBUTING.md names no tests for ${file}`)
  const { tests, engines } = row
  const isNamesake = (path: string) => basename(path).startsWith(basename(file, extname(file)))
  const groups = tests.flatMap((folder) => {
    const files = globSync(folder.endsWith('.ts') ? folder : `${folder}/*.test.ts`, { cwd: ROOT }).sort()
    return folder === 'test/spec' ? [files] : files.map((path) => [path])
  })
  const first = groups.filter(([path = '']) => isNamesake(path))
  const all = [...new Set([...first, ...groups])].map((files) => {
    const key = `${files[0]} ${engines}`
    const suite = suites.get(key) ?? { files, engines, isBroken: false, caught: new Set<string>() }
    suites.set(key, suite)
    return suite
  })
  return all.sort((a, b) => Number(b.caught.has(file)) - Number(a.caught.has(file)))
}

function compiles({ mutated }: Mutant, scratch: string): boolean {
  try {
    const file = join(scratch, 'tmp/mutant.mjs')
    writeFileSync(file, stripTypeScriptTypes(mutated))
    return spawnSync(process.execPath, ['--check', file]).status === 0
  } catch {
    return false
  }
}

function choose(): Mutant[] {
  if (options.only !== undefined) {
    const found = candidates.filter(({ id }) => id === options.only)
    if (found.length === 0) throw new Error(`${options.only} is no candidate`)
    return found
  }
  const isNamed = ({ file }: Mutant) =>
    paths.length === 0 || paths.some((path) => `${file}/`.startsWith(`${path}/`))
  const rest = candidates.filter((mutant) => isNamed(mutant) && !unobservable.has(mutant))
  if (rest.length === 0) throw new Error('no candidate there')
  const rank = ({ id }: Mutant) => createHash('sha256').update(`${seed} ${id}`).digest('hex')
  const ranked = rest
    .map((mutant) => ({ mutant, rank: rank(mutant) }))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
  return ranked.map(({ mutant }) => mutant).slice(0, options.list ? undefined : Number(options.count ?? 20))
}

function readOptions() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        count: { type: 'string' },
        seed: { type: 'string' },
        only: { type: 'string' },
        list: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    })
    if (values.help) {
      process.stdout.write(USAGE)
      process.exit()
    }
    for (const number of [values.count ?? '1', values.seed ?? '1'])
      if (!/^\d+$/.test(number)) throw new Error(`${number} is no number`)
    return { options: values, paths: positionals.map((path) => relative(ROOT, resolve(path))) }
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n${USAGE}`)
    process.exit(1)
  }
}
