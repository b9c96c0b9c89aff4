import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { nodePackage } from '../../bin/run-node.js'
import { temporaryDirectory } from '../support/service.ts'

const ROOT = join(import.meta.dirname, '../..')
const PINNED_NODE = join(ROOT, 'bin/pinned-node.js')
const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const VERSION: string = optionalDependencies[nodePackage()]

/** Says when it waits, and whatever signal it gets; it does not wait for ever. */
const WAITS = `for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => { console.log(signal); process.exit(7) })
setTimeout(() => process.exit(8), 60_000)
console.log('waits')`

function run(args: readonly string[], more: { file?: string; cwd?: string; env?: NodeJS.ProcessEnv } = {}) {
  const { file = PINNED_NODE, ...others } = more
  const options = { encoding: 'utf8', timeout: 60_000, ...others } as const
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [file, ...args], options)
  return { status, signal, stdout, stderr }
}

/** Runs a program that waits, in a shell if a script for one is given. */
async function start(script: string | undefined, env: NodeJS.ProcessEnv = process.env) {
  const launcher = [process.execPath, PINNED_NODE, '-e', WAITS]
  const [file = '', ...args] = script === undefined ? launcher : ['sh', '-c', script, ...launcher]
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  const closed = once(child, 'close')
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  while (!output.includes('waits') && !hasEnded()) await Promise.race([once(child.stdout, 'data'), closed])
  return { child, closed, output: () => output }
}

describe('bin/pinned-node.js', () => {
  it('runs the pinned Node.js, with the arguments and in the directory that it is given', () => {
    const script =
      'process.stdout.write(JSON.stringify([process.versions.node, process.argv.slice(1), process.cwd()]))'
    const args = ['a b', '', '"', '--x']
    const { status, stdout } = run(['-e', script, '--', ...args])
    assert.deepEqual([status, JSON.parse(stdout)], [0, [VERSION, args, process.cwd()]])
  })

  it('makes it the node of the programs that it starts', () => {
    const script = `require('child_process').execFileSync('node', ['-p', 'process.versions.node'], { stdio: 'inherit' })`
    assert.equal(run(['-e', script]).stdout, `${VERSION}\n`)
  })

  it('ends as it ends, with an exit code or by a signal', () => {
    assert.equal(run(['-e', 'process.exit(42)']).status, 42)
    for (const signal of ['SIGTERM', 'SIGKILL'])
      assert.equal(
        run(['-e', `process.kill(process.pid, '${signal}'); setInterval(() => {}, 1000)`]).signal,
        signal,
      )
  })

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    it(`passes ${signal} on`, async () => {
      const { child, closed, output } = await start(undefined)
      child.kill(signal)
      assert.deepEqual(await closed, [7, null])
      assert.equal(output(), `waits\n${signal}\n`)
    })
  }

  it('sends SIGTERM when npm runs it in a shell and that has ended', async () => {
    // No shell replaces itself by a program after which there is another.
    const { child, closed, output } = await start('"$0" "$@"; exit', {
      ...process.env,
      npm_lifecycle_event: 'x',
    })
    child.kill('SIGTERM')
    await closed
    assert.equal(output(), 'waits\nSIGTERM\n')
  })
})

describe('where npm has installed no Node.js for the system', () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  cpSync(join(ROOT, 'bin'), join(directory.path, 'bin'), { recursive: true })
  const asVersion = (version: string, name: string) => {
    const script = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(script)}`
    return {
      file: join(directory.path, 'bin', name),
      cwd: directory.path,
      env: { ...process.env, NODE_OPTIONS },
    }
  }

  for (const name of ['pinned-node.js', 'book-catalogue.js']) {
    it(`${name} says in one line what to install, if the system's own is too old`, () => {
      const { status, stdout, stderr } = run(['--version'], asVersion('23.11.1', name))
      assert.deepEqual([status, stdout], [1, ''])
      assert.match(stderr, /^Node\.js 24 or newer is needed, and this is 23\.11\.1: .+\n$/)
    })
  }

  it('runs on the own one of the system from 24 on', () => {
    const { status, stdout } = run(['-p', '1 + 1'], asVersion('24.0.0', 'pinned-node.js'))
    assert.deepEqual([status, stdout], [0, '2\n'])
  })
})
