import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, it } from 'node:test'

const SRC = join(import.meta.dirname, '../src')

/**
 * Every file of src, and the others that it may import; `type` means their types only. Imports run downwards:
 * a file that is new has to be placed here.
 */
const MAY_IMPORT: Record<string, readonly string[]> = {
  main: ['command-line'],
  'command-line': [
    'command',
    'commands/backup',
    'commands/check',
    'commands/copy',
    'commands/export',
    'commands/import',
    'commands/serve',
    'commands/token',
  ],
  'commands/serve': [
    'auth',
    'command',
    'config',
    'cursor',
    'first-steps',
    'listen',
    'login-limit',
    'metrics',
    'output',
    'server',
    'stop',
    'store/deferred-store',
    'store/open',
    'store/store',
  ],
  'commands/export': [
    'command',
    'command-store',
    'format-option',
    'type config',
    'new-file',
    'progress',
    'type store/store',
    'type transfer/formats',
    'transfer/write-books',
  ],
  'commands/import': [
    'command',
    'command-store',
    'format-option',
    'type config',
    'progress',
    'type transfer/formats',
    'transfer/import-report',
    'transfer/read-books',
  ],
  'format-option': ['command', 'transfer/formats'],
  'commands/backup': ['command', 'type config', 'progress', 'store/sqlite-backup'],
  'commands/copy': ['type book', 'command', 'command-store', 'progress', 'store/db-url', 'store/store'],
  'commands/token': ['auth', 'command'],
  'commands/check': ['command', 'command-store', 'config'],
  'command-store': ['command', 'type store/db-url', 'store/open', 'store/store'],
  'new-file': ['command', 'store/part-file'],
  progress: [],
  command: ['config', 'stop-signal'],
  'first-steps': ['type config'],
  listen: ['command'],
  stop: ['stop-signal'],
  'stop-signal': [],
  metrics: ['type store/store'],
  server: [
    'api',
    'abandoned',
    'body',
    'book',
    'type config',
    'connection',
    'connection-limit',
    'cross-origin',
    'envelope',
    'health',
    'json-body',
    'log-stream',
    'type metrics',
    'openapi',
    'overload',
    'pipelining',
    'reads-first',
    'request-id',
    'routing',
    'type setting-values',
    'store/store',
    'unsent-answers',
    'web-page',
  ],
  'web-page': ['accept', 'envelope', 'etag', 'web-files'],
  'web-files': [],
  'log-stream': ['output'],
  health: ['envelope', 'store/store'],
  overload: ['envelope'],
  abandoned: [],
  pipelining: [],
  'reads-first': [],
  body: ['envelope'],
  'json-body': [],
  'cross-origin': [],
  'connection-limit': ['connection', 'pipelining'],
  'unsent-answers': [],
  'request-id': [],
  'login-limit': [],
  'setting-values': [],
  output: [],
  routing: ['envelope'],
  openapi: ['api-schema', 'book', 'json-schema'],
  api: [
    'abandoned',
    'accept',
    'api-schema',
    'auth',
    'book',
    'conditional-write',
    'config',
    'cross-origin',
    'cursor',
    'envelope',
    'etag',
    'import-endpoint',
    'list-request',
    'listing',
    'query-string',
    'search-index',
    'statistics-endpoint',
    'type login-limit',
    'type store/store',
    'store/walk',
    'transfer/formats',
    'transfer/write-books',
    'type unsent-answers',
  ],
  'statistics-endpoint': [
    'api-schema',
    'envelope',
    'list-request',
    'query-string',
    'search-index',
    'statistics',
    'type store/store',
  ],
  statistics: ['json-schema', 'type store/store'],
  'import-endpoint': [
    'api-schema',
    'connection',
    'envelope',
    'import-result',
    'json-schema',
    'least-rate',
    'query-string',
    'type store/store',
    'transfer/formats',
    'transfer/import-report',
    'transfer/read-books',
  ],
  'list-request': [
    'type book',
    'book-query',
    'type cursor',
    'envelope',
    'json-schema',
    'query-string',
    'words',
  ],
  'query-string': ['envelope'],
  cursor: ['book-query', 'type store/store'],
  'conditional-write': ['type book', 'envelope', 'etag', 'store/store'],
  etag: ['type book'],
  'api-schema': [
    'auth',
    'book',
    'envelope',
    'import-result',
    'json-schema',
    'search-index',
    'statistics',
    'transfer/formats',
  ],
  'search-index': [],
  'least-rate': [],
  'import-result': ['json-schema', 'transfer/import-report'],
  connection: ['envelope'],
  listing: ['type book-query', 'envelope', 'type store/store', 'type transfer/write-books'],
  accept: [],
  config: ['setting-values', 'store/db-url'],

  'store/open': [
    'type store/db-url',
    'store/mysql',
    'store/postgres',
    'type store/server-start',
    'store/sqlite',
    'type store/store',
  ],
  'store/sqlite': [
    'type book',
    'type book-query',
    'store/deadline',
    'store/files',
    'store/sqlite-connection',
    'store/sqlite-failure',
    'type store/sqlite-group-commit',
    'store/sqlite-import',
    'store/sqlite-list',
    'store/sqlite-query',
    'store/sqlite-reader',
    'type store/sqlite-reader-thread',
    'store/sqlite-schema',
    'store/sqlite-snapshot',
    'store/sqlite-writer',
    'store/store',
  ],
  'store/sqlite-writer': [
    'type book',
    'store/sqlite-failure',
    'type store/sqlite-group-commit',
    'store/sqlite-thread',
    'type store/sqlite-writer-thread',
    'store/store',
  ],
  'store/sqlite-thread': [],
  'store/sqlite-writer-thread': [
    'store/sqlite-connection',
    'store/sqlite-failure',
    'store/sqlite-group-commit',
    'store/sqlite-index',
    'store/sqlite-index-upkeep',
  ],
  'store/sqlite-import': [
    'store/sqlite-failure',
    'type store/sqlite-import-thread',
    'type store/sqlite-staging',
    'store/sqlite-thread',
    'store/store',
  ],
  'store/sqlite-import-thread': [
    'store/sqlite-connection',
    'store/sqlite-failure',
    'store/sqlite-staging',
    'type store/store',
  ],
  'store/sqlite-staging': ['type store/store'],
  'store/sqlite-group-commit': ['type book', 'store/sqlite-failure'],
  'store/sqlite-index-upkeep': ['store/sqlite-index'],
  'store/sqlite-index': ['type book', 'book-query', 'store/sqlite-schema', 'words'],
  'store/sqlite-reader': [
    'store/sqlite-failure',
    'type store/sqlite-reader-thread',
    'store/sqlite-thread',
    'store/store',
  ],
  'store/sqlite-reader-thread': [
    'type book-query',
    'store/sqlite-connection',
    'store/sqlite-dialect',
    'store/sqlite-failure',
    'store/sqlite-import',
    'store/sqlite-query',
    'type store/store',
  ],
  'store/sqlite-query': [
    'type book',
    'type book-query',
    'store/page',
    'store/query-sql',
    'store/statistics',
    'store/sqlite-dialect',
    'store/sqlite-schema',
    'type store/store',
    'words',
  ],
  'store/sqlite-snapshot': [],
  'store/sqlite-list': ['csv', 'store/sqlite-failure', 'store/walk'],
  'store/sqlite-dialect': ['book-query', 'type store/query-sql'],
  'store/sqlite-failure': ['store/sqlite-connection', 'store/store'],
  'store/page': ['type book', 'book-query', 'store/query-sql', 'type store/store'],
  'store/query-sql': ['type book', 'book-query'],
  'store/sqlite-backup': ['store/part-file', 'store/sqlite-connection'],
  'store/postgres': [
    'type book',
    'store/postgres-additions',
    'store/postgres-connection',
    'store/postgres-import',
    'store/postgres-query',
    'store/postgres-schema',
    'type store/postgres-url',
    'store/server-page',
    'store/server-start',
    'store/server-store',
    'store/server-words',
    'type store/store',
    'words',
  ],
  'store/postgres-connection': [
    'store/connection-errors',
    'store/connection-pool',
    'type store/postgres-url',
    'store/tls',
  ],
  'store/postgres-additions': [
    'store/connection-errors',
    'type store/connection-pool',
    'store/postgres-query',
    'store/server-additions',
  ],
  'store/postgres-query': [
    'book-query',
    'type store/query-sql',
    'type store/server-attempt',
    'store/server-words',
    'words',
  ],
  'store/postgres-schema': ['store/server-schema', 'store/store'],
  'store/mysql': [
    'type book',
    'store/mysql-additions',
    'store/mysql-connection',
    'store/mysql-files',
    'store/mysql-import',
    'store/mysql-query',
    'store/mysql-room',
    'store/mysql-schema',
    'type store/mysql-url',
    'store/mysql-words',
    'type store/query-sql',
    'store/server-page',
    'store/server-start',
    'store/server-store',
    'type store/store',
  ],
  'store/mysql-connection': [
    'store/connection-errors',
    'store/connection-pool',
    'type store/mysql-url',
    'store/tls',
  ],
  'store/mysql-additions': [
    'store/connection-errors',
    'type store/connection-pool',
    'store/mysql-query',
    'store/mysql-words',
    'store/server-additions',
  ],
  'store/mysql-files': ['type store/connection-pool'],
  'store/mysql-room': ['store/connection-errors'],
  'store/mysql-query': ['book-query', 'type store/query-sql', 'type store/server-query'],
  'store/mysql-words': ['type store/server-attempt', 'store/server-words', 'words'],
  'store/mysql-schema': ['store/connection-errors', 'store/server-schema', 'store/store'],
  'store/server-attempt': ['store/connection-errors', 'store/connection-pool', 'store/store'],
  'store/server-store': [
    'type book',
    'type book-query',
    'csv',
    'store/connection-pool',
    'type store/query-sql',
    'store/server-attempt',
    'store/server-import',
    'store/server-page',
    'store/server-query',
    'store/server-words',
    'type store/store',
  ],
  'store/server-additions': ['store/connection-errors', 'type store/connection-pool'],
  'store/server-page': ['book-query', 'store/query-sql', 'type store/store', 'store/walk'],
  'store/server-query': [
    'type book',
    'type book-query',
    'store/connection-pool',
    'store/page',
    'store/query-sql',
    'store/server-page',
    'store/server-scan',
    'store/statistics',
    'type store/server-words',
    'type store/store',
  ],
  'store/statistics': ['type book', 'book-query', 'type store/query-sql', 'type store/store'],
  'store/server-scan': [
    'type book',
    'book-query',
    'store/page',
    'store/statistics',
    'type store/store',
    'store/walk',
    'words',
  ],
  'store/walk': ['type book-query', 'type store/store'],
  'store/server-words': ['store/deadline', 'words'],
  'store/server-import': [
    'store/connection-errors',
    'type store/connection-pool',
    'store/deadline',
    'type store/server-attempt',
    'store/store',
  ],
  'store/postgres-import': ['store/postgres-query', 'type store/server-import', 'type store/store'],
  'store/mysql-import': ['type book', 'book-query', 'type store/server-import', 'type store/store'],
  'store/deadline': ['store/store'],
  'store/server-schema': ['store/store'],
  'store/server-start': ['store/connection-errors', 'store/connection-pool', 'store/store'],
  'store/connection-pool': ['store/store'],
  'store/connection-errors': [],
  'store/tls': ['store/store'],
  'store/part-file': ['store/files'],
  'store/files': [],
  'store/sqlite-connection': [],
  'store/sqlite-schema': ['store/sqlite-connection', 'store/store'],
  'store/deferred-store': ['type book', 'type book-query', 'store/store'],
  'store/store': ['type book', 'type book-query'],
  'store/db-url': ['store/mysql-url', 'store/postgres-url'],
  'store/mysql-url': ['store/server-url', 'store/tls'],
  'store/postgres-url': ['store/server-url', 'store/tls'],
  'store/server-url': [],

  'transfer/write-books': ['type book', 'csv', 'type transfer/formats'],
  'transfer/read-books': [
    'type book',
    'type transfer/csv-parser',
    'transfer/csv-rows',
    'transfer/csv-sources',
    'transfer/fields',
    'type transfer/formats',
    'transfer/import-report',
    'transfer/lines',
  ],
  'transfer/csv-rows': ['transfer/csv-parser', 'transfer/decode', 'transfer/import-report'],
  'transfer/csv-parser': ['transfer/import-report'],
  'transfer/csv-sources': ['type book', 'transfer/fields', 'transfer/import-report', 'transfer/year'],
  'transfer/year': ['transfer/fields'],
  'transfer/lines': ['book', 'transfer/decode', 'transfer/import-report'],
  'transfer/decode': ['transfer/import-report'],
  'transfer/fields': ['book'],
  'transfer/import-report': [],
  'transfer/formats': [],

  auth: ['json-schema'],
  book: ['json-schema'],
  'json-schema': [],
  'book-query': ['type book'],
  words: [],
  csv: ['type book'],
  envelope: ['json-schema'],
}

/** The files that may know of the web framework. */
const KNOW_FASTIFY = [
  'commands/serve',
  'stop',
  'metrics',
  'server',
  'health',
  'overload',
  'routing',
  'openapi',
  'api',
  'api-schema',
  'connection-limit',
  'cross-origin',
  'unsent-answers',
  'import-endpoint',
  'statistics-endpoint',
  'web-page',
]

interface Import {
  readonly from: string
  readonly typeOnly: boolean
}

/** The modules that a source text imports or exports from. */
function importsIn(source: string): Import[] {
  const statements = source.matchAll(/^(?:import|export)\s+(type\s+)?(?:[^'";]*?\sfrom\s+)?'([^']+)'/gm)
  const calls = source.matchAll(/\bimport\(\s*'([^']+)'/g)
  return [
    ...Array.from(statements, ([, type, from = '']) => ({ from, typeOnly: type !== undefined })),
    ...Array.from(calls, ([, from = '']) => ({ from, typeOnly: false })),
  ]
}

const files = globSync('**/*.ts', { cwd: SRC }).map((path) => path.replaceAll('\\', '/').replace(/\.ts$/, ''))
const imports = new Map(files.map((file) => [file, importsIn(readFileSync(join(SRC, `${file}.ts`), 'utf8'))]))

/** What a file imports of ours, by the names that the table has. */
const ours = (file: string): Import[] =>
  (imports.get(file) ?? [])
    .filter(({ from }) => from.startsWith('.') && from.endsWith('.ts'))
    .map(({ from, typeOnly }) => ({
      from: posix.join(posix.dirname(file), from.replace(/\.ts$/, '')),
      typeOnly,
    }))

describe('the imports of src', () => {
  it('are found by this test', () => {
    const source = `import a from './a.ts'\nimport type { B } from './b.ts'\nimport {\n  c,\n  type D,\n} from 'c'\nimport './d.ts'
export { e } from './e.ts'\nexport * from './f.ts'\nconst g = await import('./g.ts')\nimport h, { type I } from '@x/h'\n`
    assert.deepEqual(
      importsIn(source).map(({ from, typeOnly }) => (typeOnly ? `type ${from}` : from)),
      ['./a.ts', 'type ./b.ts', 'c', './d.ts', './e.ts', './f.ts', '@x/h', './g.ts'],
    )
  })

  it('are of files that all have their place in the table', () => {
    assert.deepEqual(files.toSorted(), Object.keys(MAY_IMPORT).toSorted())
  })

  for (const file of files) {
    it(`of ${file} are those that the table allows`, () => {
      const allowed = MAY_IMPORT[file] ?? []
      const others = ours(file).filter(
        ({ from, typeOnly }) => !allowed.includes(from) && !(typeOnly && allowed.includes(`type ${from}`)),
      )
      assert.deepEqual(others, [])
    })
  }

  it('have no cycle', () => {
    const done = new Set<string>()
    const visit = (file: string, path: readonly string[]): void => {
      assert.ok(!path.includes(file), [...path, file].join(' -> '))
      if (done.has(file)) return
      for (const { from } of ours(file)) visit(from, [...path, file])
      done.add(file)
    }
    for (const file of files) visit(file, [])
    assert.equal(done.size, files.length)
  })

  it('know of the web framework in few files', () => {
    const know = files.filter((file) =>
      imports.get(file)?.some(({ from }) => from === 'fastify' || from.startsWith('@fastify/')),
    )
    assert.ok(know.includes('server'))
    assert.deepEqual(
      know.filter((file) => !KNOW_FASTIFY.includes(file)),
      [],
    )
  })

  it('leave src only for the package.json', () => {
    const outside = files.flatMap((file) =>
      (imports.get(file) ?? [])
        .filter(
          ({ from }) =>
            from.startsWith('.') && posix.join('src', posix.dirname(file), from).match(/^(?!src\/)/),
        )
        .map(({ from }) => posix.join('src', posix.dirname(file), from)),
    )
    assert.deepEqual([...new Set(outside)], ['package.json'])
  })
})
