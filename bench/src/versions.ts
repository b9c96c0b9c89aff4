import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Contender, StoreKind } from './contenders.ts'

const BENCH = resolve(import.meta.dirname, '..')

/** The versions of what a contender is made of, in one line. */
export function versionsOf(contender: Contender, servers: Partial<Record<StoreKind, string>>): string {
  const packages = contender.packages.filter((name) => name !== 'bun')
  const runtime = contender.runtime === 'Bun' ? `Bun ${version('bun')}` : `Node.js ${process.versions.node}`
  const server = servers[contender.store]
  return [runtime, ...packages.map((name) => `${name} ${version(name)}`), ...(server ? [server] : [])].join(
    ', ',
  )
}

function version(name: string): string {
  try {
    const text = readFileSync(resolve(BENCH, 'node_modules', name, 'package.json'), 'utf8')
    return (JSON.parse(text) as { version: string }).version
  } catch {
    return '(not installed)'
  }
}
