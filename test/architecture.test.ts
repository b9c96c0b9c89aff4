import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { it } from 'node:test'

const SRC = join(import.meta.dirname, '../src')

/** What any file may import. */
const EVERYWHERE = ['errors.ts', 'resources.ts']

/** What each folder may import from, besides itself and EVERYWHERE. A file directly in src stands for itself. */
const MAY_IMPORT: Record<string, string> = {
  'main.ts': 'cli',
  'index.ts': 'service config.ts settings.ts',
  service: 'threads http auth files observability catalogue store store/sqlite config.ts',
  threads: 'catalogue',
  cli: 'cli/commands http auth files observability catalogue store config.ts settings.ts setting-file.ts stop-signal.ts',
  'cli/commands':
    'cli service http auth files observability catalogue store store/sqlite config.ts stop-signal.ts',
  http: 'http/protocol http/routes http/web-page auth observability catalogue config.ts stop-signal.ts',
  'http/protocol': 'http',
  'http/routes': 'http http/protocol auth files catalogue config.ts',
  'http/web-page': 'http',
  observability: 'catalogue',
  files: 'catalogue',
  auth: 'catalogue',
  'config.ts': 'auth store settings.ts setting-file.ts',
  store: 'setting-file.ts catalogue store/sqlite store/client-server store/postgres store/mysql',
  'store/query': 'catalogue',
  'store/sqlite': 'catalogue store store/query threads',
  'store/client-server': 'setting-file.ts catalogue store store/query',
  'store/postgres': 'catalogue store store/query store/client-server',
  'store/mysql': 'catalogue store store/query store/client-server',
}

/** Who may know the web framework. */
const KNOWS_FASTIFY = /^(http\/|service\/|observability\/metrics\.ts$)/

/** Each file, and what it imports: a path below src, or the name of a package. */
const imports = globSync('**/*.ts', { cwd: SRC }).flatMap((path) => {
  const file = path.replaceAll('\\', '/')
  const statements = /^(?:import|export)\s+(?:[^'";]*?\sfrom\s+)?'([^']+)'|\bimport\(\s*'([^']+)'/gm
  return Array.from(readFileSync(join(SRC, file), 'utf8').matchAll(statements), ([, statement, call]) => {
    const to = statement ?? call ?? ''
    return { file, to: to.startsWith('.') ? posix.join(posix.dirname(file), to) : to }
  })
})

it('every folder imports only from those that it may, and few know of Fastify', () => {
  const folderOf = (file: string) => (file.includes('/') ? posix.dirname(file) : file)
  const others = imports.filter(({ file, to }) => {
    if (/fastify/.test(to)) return !KNOWS_FASTIFY.test(file)
    const [from, into] = [folderOf(file), folderOf(to)]
    const allowed = [from, ...EVERYWHERE, ...(MAY_IMPORT[from]?.split(' ') ?? [])]
    return to.endsWith('.ts') && !allowed.includes(into)
  })
  assert.deepEqual(others, [])
})

it('no file imports itself through others', () => {
  let left = imports
  let before: typeof imports
  // Without imports of files that import nothing, again and again, circles remain, and what leads to them.
  do {
    before = left
    left = before.filter(({ to }) => before.some(({ file }) => file === to))
  } while (left.length < before.length)
  assert.deepEqual(left, [])
})

it('no file imports values from node:http, because that would load undici at every start (docs/decisions.md)', () => {
  const importing = globSync('**/*.ts', { cwd: SRC }).filter((path) =>
    /^import (?!type )[^']*? from 'node:https?'/m.test(readFileSync(join(SRC, path), 'utf8')),
  )
  assert.deepEqual(importing, [])
})
