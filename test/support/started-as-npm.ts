import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** The options of Node.js and the variables with which `npm start` starts the service. */
export function startedAsNpm(): { options: string[]; variables: Record<string, string> } {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: { start: string }
  }
  const [, assignments, options] = /^((?:\w+=\S+ )*)exec node (.*?)src\/main\.ts/.exec(scripts.start) ?? []
  if (assignments === undefined || options === undefined) throw new Error(`how does ${scripts.start} start?`)
  const words = (text: string) => text.split(' ').filter((word) => word !== '')
  const variables = Object.fromEntries(words(assignments).map((each) => each.split('=') as [string, string]))
  const { NODE_COMPILE_CACHE: cache, ...others } = variables
  return {
    options: words(options),
    variables: { ...others, ...(cache && { NODE_COMPILE_CACHE: join(ROOT, cache) }) },
  }
}
