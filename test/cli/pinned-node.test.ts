import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { nodePackage } from '../../bin/run-node.js'
import { temporaryDirectory } from '../support/service.ts'

const ROOT = join(import.meta.dirname, '../..')
const PINNED_NODE = join(ROOT, 'bin/pinned-node.js')
const { optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
const VERSION: string = optionalDependencies[nodePackage()]

/** A program that sends a signal to a process, and says whatever signal it gets; it does not wait for ever. */
const signalling = (pid: string, signal: string) => `
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => { console.log(signal); process.exit(7) })
  setTimeout(() => process.exit(8), 60_000)
  process.kill(${pid}, '${signal}')`

/** @returns an environment in which Node.js runs this module first. */
const preloading = (module: string, env: NodeJS.ProcessEnv = {}) => ({
  ...process.env,
  ...env,
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(module)}`,
})

function run(args: readonly string[], more: { file?: string; cwd?: string; env?: NodeJS.ProcessEnv } = {}) {
  const { file = PINNED_NODE, ...others } = more
  const options = { encoding: 'utf8', timeout: 60_000, ...others } as const
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [file, ...args], options)
  return { status, signal, stdout, stderr }
}

describe('bin/pinned-node.js', () => {
  it('runs the pinned Node.js, also as the node of programs, with the arguments that it is given', () => {
    const script = `const { execFileSync } = require('child_process')
      const node = execFileSync('node', ['-p', 'process.versions.node'], { encoding: 'utf8' }).trim()
      process.stdout.write(JSON.stringify([process.versions.node, node, process.argv.slice(1)]))`
    const args = ['a b', '', '"', '--x']
    const { status, stdout } = run(['-e', script, '--', ...args])
    assert.deepEqual([status, JSON.parse(stdout)], [0, [VERSION, VERSION, args]])
  })

  it('is what bin/book-catalogue.js, which npx runs, starts the command line with', () => {
    const { status, stderr } = run(['unknown'], { file: join(ROOT, 'bin/book-catalogue.js') })
    assert.equal(status, 2)
    assert.match(stderr, /^book-catalogue: there is no command "unknown"/)
  })

  it('ends as it ends, by a signal', () => {
    const script = "process.kill(process.pid, 'SIGTERM'); setInterval(() => {}, 1000)"
    assert.equal(run(['-e', script]).signal, 'SIGTERM')
    // As the first process of a container, it survives the signal.
    const first = "if (process.argv[1]?.endsWith('pinned-node.js')) process.kill = () => true"
    assert.equal(run(['-e', script], { env: preloading(first) }).status, 128 + 15)
  })

  it('passes signals on, also those that come while the child starts', () => {
    const slowSpawn = `import childProcess from 'node:child_process'
      const { spawn } = childProcess
      childProcess.spawn = (...args) => {
        const child = spawn(...args)
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
        return child
      }
      process.getBuiltinModule('module').syncBuiltinESMExports()`
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
      const script = signalling('process.ppid', signal)
      const { status, stdout } = run(['-e', script], { env: preloading(slowSpawn) })
      assert.deepEqual([status, stdout], [7, `${signal}\n`])
    }
  })

  it('sends SIGTERM, once, when npm runs it in a shell and that has ended', () => {
    // No shell replaces itself by a program after which there is another.
    const script = 'SHELL_PID=$$ "$0" "$@"; exit'
    const program = signalling('Number(process.env.SHELL_PID)', 'SIGTERM')
    // Looks twice whether the shell is there, unless one look was the last.
    const eager = `import { ChildProcess } from 'node:child_process'
      const { setInterval } = globalThis
      globalThis.setInterval = (look, time) => {
        const timer = setInterval(() => { look(); if (!timer._destroyed) look() }, time)
        return timer
      }
      const { kill } = ChildProcess.prototype
      ChildProcess.prototype.kill = function (signal) {
        process.stdout.write('sent ')
        return kill.call(this, signal)
      }`
    const options = { encoding: 'utf8', env: preloading(eager, { npm_lifecycle_event: 'x' }) } as const
    const shell = spawnSync('sh', ['-c', script, process.execPath, PINNED_NODE, '-e', program], options)
    assert.deepEqual([shell.signal, shell.stdout], ['SIGTERM', 'sent SIGTERM\n'])
  })
})

describe('where npm has installed no Node.js for the system', () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  cpSync(join(ROOT, 'bin'), join(directory.path, 'bin'), { recursive: true })
  const main = join(directory.path, 'dist/main.js')
  mkdirSync(dirname(main))
  writeFileSync(main, '')
  const asVersion = (version: string, name: string) => {
    const script = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`
    return { file: join(directory.path, 'bin', name), cwd: directory.path, env: preloading(script) }
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

  it('gives a command its flags and variables, of which the environment may have others', () => {
    writeFileSync(main, 'const { execArgv, env } = process; console.log(execArgv[0], env.MALLOC_ARENA_MAX)')
    const { env, ...others } = asVersion('24.0.0', 'book-catalogue.js')
    const outputs = [{}, { MALLOC_ARENA_MAX: '7' }].map((variables) => {
      return run(['import'], { ...others, env: { ...env, ...variables } }).stdout
    })
    assert.deepEqual(outputs, ['--max-semi-space-size=4 2\n', '--max-semi-space-size=4 7\n'])
  })

  it('says what to do if that of the package in the working directory cannot be started', () => {
    const cwd = join(directory.path, 'program')
    const pinned = join(cwd, 'node_modules', nodePackage())
    mkdirSync(join(pinned, 'bin'), { recursive: true })
    for (const name of ['package.json', 'bin/node']) writeFileSync(join(pinned, name), '{}')
    const { status, stderr } = run([], { ...asVersion('24.0.0', 'pinned-node.js'), cwd })
    assert.equal(status, 1)
    assert.match(
      stderr,
      /^\S+\/program\/.*\/bin\/node cannot be started \(.+\): install Node\.js 24 or newer, .+\n$/,
    )
  })

  it('a package that npm has made without its scripts says so', () => {
    rmSync(main)
    const { status, stderr } = run(['--version'], asVersion('24.0.0', 'book-catalogue.js'))
    assert.equal(status, 1)
    assert.match(stderr, /^npm has made this package without .* --ignore-scripts=false\n$/)
  })
})
