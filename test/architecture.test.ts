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

const files = globSync('**/*.ts', { cwd: SRC }).map((path) => path.replaceAll('\\', '/'))
const importsOf = new Map(files.map((file) => [file, importsIn(readFileSync(join(SRC, file), 'utf8'))]))
/** The files of src that a file imports. */
const ours = (file: string): string[] =>
  (importsOf.get(file) ?? [])
    .filter((from) => from.startsWith('.') && from.endsWith('.ts'))
    .map((from) => posix.join(posix.dirname(file), from))
const folderOf = (file: string) => (file.includes('/') ? posix.dirname(file) : file)

function importsIn(source: string): string[] {
  const statements = /^(?:import|export)\s+(?:[^'";]*?\sfrom\s+)?'([^']+)'|\bimport\(\s*'([^']+)'/gm
  return Array.from(source.matchAll(statements), ([, statement, call]) => statement ?? call ?? '')
}

it('finds every form of import', () => {
  const source = `import a from 'a'\nimport type { B } from 'b'\nimport {\n  c,\n  type D,\n} from 'c'\nimport 'd'
export { e } from 'e'\nexport * from 'f'\nconst g = await import('g')\n`
  assert.deepEqual(importsIn(source), ['a', 'b', 'c', 'd', 'e', 'f', 'g'])
})

it('every folder imports only from those that it may', () => {
  const allowed = (from: string, to: string) =>
    from === to || EVERYWHERE.includes(to) || MAY_IMPORT[from]?.split(' ').includes(to)
  const others = files.flatMap((file) =>
    ours(file)
      .filter((to) => !allowed(folderOf(file), folderOf(to)))
      .map((to) => `${file} -> ${to}`),
  )
  assert.deepEqual(others, [])
})

it('only HTTP knows of Fastify', () => {
  const others = files.filter((file) => !KNOWS_FASTIFY.test(file))
  for (const file of others) assert.ok(!importsOf.get(file)?.some((from) => /fastify/.test(from)), file)
})

it('no file imports itself through others', () => {
  const done = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    assert.ok(!path.includes(file), [...path, file].join(' -> '))
    if (!done.has(file)) for (const to of ours(file)) visit(to, [...path, file])
    done.add(file)
  }
  for (const file of files) visit(file, [])
})
