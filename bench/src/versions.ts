import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Contender, StoreKind } from './contenders.ts'
import { GO_PACKAGES } from './gin-gorm.ts'

const BENCH = resolve(import.meta.dirname, '..')

const MISSING = '(not installed)'

/** The versions of what a contender is made of, in one line. */
export function versionsOf(contender: Contender, servers: Partial<Record<StoreKind, string>>): string {
  const packages = contender.packages.filter((name) => name !== 'bun')
  const version = contender.runtime === 'Go' ? goVersion : npmVersion
  const server = servers[contender.store]
  return [
    runtimeOf(contender),
    ...packages.map((name) => `${name} ${version(name)}`),
    ...(server ? [server] : []),
  ].join(', ')
}

/** The version of this service, such as `1.0.0 (89abcde)`. */
export function ownVersion(): string {
  const { version } = JSON.parse(readFileSync(resolve(BENCH, '../package.json'), 'utf8')) as {
    version: string
  }
  const commit = outputOf('git', '-C', BENCH, 'rev-parse', '--short', 'HEAD')
  return commit === undefined ? version : `${version} (${commit})`
}

function runtimeOf({ runtime }: Contender): string {
  switch (runtime) {
    case 'Node.js':
      return `Node.js ${process.versions.node}`
    case 'Bun':
      return `Bun ${npmVersion('bun')}`
    case 'Go':
      return `Go ${outputOf('go', 'env', 'GOVERSION')?.replace('go', '') ?? MISSING}`
  }
}

function npmVersion(name: string): string {
  try {
    const text = readFileSync(resolve(BENCH, 'node_modules', name, 'package.json'), 'utf8')
    return (JSON.parse(text) as { version: string }).version
  } catch {
    return MISSING
  }
}

/** The version of a library without that of its Debian package, which is after the last hyphen. */
function goVersion(name: string): string {
  const [, version] = outputOf('dpkg-query', '--show', GO_PACKAGES[name] ?? name)?.split('\t') ?? []
  return version?.replace(/-[^-]*$/, '') ?? MISSING
}

/** What a program writes, or undefined if it fails. */
function outputOf(file: string, ...args: string[]): string | undefined {
  const { status, stdout } = spawnSync(file, args, { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}
