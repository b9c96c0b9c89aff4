import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** What `npm start` says to Node.js. */
export interface StartOptions {
  readonly variables: Readonly<Record<string, string>>
  /** Such as `--max-semi-space-size=8`. */
  readonly flags: readonly string[]
}

export function startOptions(): StartOptions {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: { start: string }
  }
  const parts = /^((?:\w+=\S+ )*)exec node ((?:--\S+ )*)src\/main\.ts/.exec(scripts.start)
  if (parts === null) throw new Error(`how does ${scripts.start} start?`)
  const [assignments = [], flags = []] = parts.slice(1).map((part) => part.split(' ').filter(Boolean))
  return {
    variables: Object.fromEntries(assignments.map((each) => each.split('=') as [string, string])),
    flags,
  }
}

/** The environment in which Node.js runs, from whatever directory, as `npm start` has it. */
export function startedAsNpm(): Record<string, string> {
  const { variables, flags } = startOptions()
  const { NODE_COMPILE_CACHE: cache, ...others } = variables
  return { ...others, ...(cache && { NODE_COMPILE_CACHE: join(ROOT, cache) }), NODE_OPTIONS: flags.join(' ') }
}
