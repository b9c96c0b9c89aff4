import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** The variables with which `npm start` starts the service. */
export function startedAsNpm(): Record<string, string> {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: { start: string }
  }
  const [, assignments] = /^((?:\w+=\S+ )*)exec node src\/main\.ts/.exec(scripts.start) ?? []
  if (assignments === undefined) throw new Error(`how does ${scripts.start} start?`)
  const words = assignments.split(' ').filter((word) => word !== '')
  const variables = Object.fromEntries(words.map((each) => each.split('=') as [string, string]))
  const { NODE_COMPILE_CACHE: cache, ...others } = variables
  return { ...others, ...(cache && { NODE_COMPILE_CACHE: join(ROOT, cache) }) }
}
