import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { parseEnv, promisify } from 'node:util'
import type { Book } from '../../src/catalogue/book.ts'
import { parseDbUrl } from '../../src/store/db-url.ts'
import { openStore } from '../../src/store/open.ts'
import { type Ended, MAIN, runCommand, withoutStores } from '../support/command.ts'
import { INHERITED, PATIENT, SECRET, temporaryDirectory } from '../support/service.ts'
import { useService } from '../support/use-service.ts'

const COMMANDS = readdirSync(join(import.meta.dirname, '../../src/cli/commands')).map((name) =>
  name.slice(0, -3),
)
const NO_YEAR = '"x" is not a year (a whole number such as 1979 or -500)'
const WIDTH = 'the number of fields is 1, not 3 as in the first line'

/** Runs command lines one after the other in one process, which saves the start of many. @returns how each ended. */
async function runAll(
  cwd: string,
  commandLines: readonly (readonly string[])[],
  settings = {},
): Promise<Ended[]> {
  const options = { cwd, env: { ...INHERITED, STORE_TIMEOUT: PATIENT, ...settings }, maxBuffer: 2 ** 28 }
  const args = [join(import.meta.dirname, 'run-lines.ts'), JSON.stringify(commandLines)]
  return JSON.parse((await promisify(execFile)(process.execPath, args, options)).stdout)
}

/** Checks what a command has said, and that its exit code is 1 if it could not do its work, and 2 for wrong usage. */
function assertSaid(ended: Ended | undefined, stdout: string | RegExp, stderr: string | RegExp = ''): void {
  assert.ok(ended !== undefined)
  const said = withoutStores(ended.stderr)
  for (const [found, expected] of [
    [ended.stdout, stdout],
    [said, stderr],
  ] as const)
    if (typeof expected === 'string') assert.equal(found, expected)
    else assert.match(found, expected)
  assert.equal(ended.code, said.startsWith('Cannot ') ? 1 : said.startsWith('book-catalogue: ') ? 2 : 0)
}

describe('the command line', () => {
  const directory = temporaryDirectory()
  after(directory.remove)

  it('lists every command, and prints its version', async () => {
    const { version } = JSON.parse(readFileSync(resolve(MAIN, '../../package.json'), 'utf8'))
    const all = await runAll(directory.path, [['--help'], ['-h'], ['help'], ['--version'], ['-v']])
    for (const name of COMMANDS)
      for (const help of all.slice(0, 3)) assertSaid(help, new RegExp(`^  ${name} `, 'm'))
    for (const ended of all.slice(3)) assertSaid(ended, `${version}\n`)
  })

  it('tells how each command is used, and refuses what it does not know', async () => {
    const words = ['--help', '-h', '--unknown', 'a b c']
    const lines = COMMANDS.flatMap((name) => words.map((args) => [name, ...args.split(' ')]))
    for (const [i, ended] of (await runAll(directory.path, lines)).entries()) {
      const [name, option] = lines[i] ?? []
      const message = new RegExp(`^book-catalogue: .+\nSee: book-catalogue ${name} --help\n$`)
      if (option === '--help' || option === '-h')
        assertSaid(ended, new RegExp(`^Usage: book-catalogue ${name}`))
      else assertSaid(ended, '', message)
    }
    const unknown = /^book-catalogue: there is no command ".+"\nSee: book-catalogue --help\n$/
    for (const ended of await runAll(directory.path, [['unknown'], ['toString'], ['--unknown']]))
      assertSaid(ended, '', unknown)
  })

  it('is what npx runs', () => {
    const bin = resolve(import.meta.dirname, '../../bin/book-catalogue.js')
    const { status, stderr } = spawnSync(process.execPath, [bin, 'unknown'], { encoding: 'utf8' })
    assert.equal(status, 2)
    assert.match(stderr, /^book-catalogue: there is no command "unknown"/)
  })

  for (const [path, ...options] of [['.env'], ['other.env', '--settings', 'other.env']] as const)
    it(`init writes ${path}, with which the service starts, for its user alone, and never replaces it`, async () => {
      const lines = [['init'], ['check'], ['init']].map((line) => [...line, ...options])
      const [written, checked, again] = await runAll(directory.path, lines)
      const start = path === '.env' ? 'in this directory: npm start' : `with --settings ${path}`
      const next = `Look through it, then start the service ${start}\n`
      assertSaid(written, `${path} has a new SECRET_TOKEN and a new PASSWORD. ${next}`)
      assertSaid(checked, /^The settings are good\. .*books\.db is made at the first start\.\n$/)
      assertSaid(again, '', `Cannot write the settings: ${path} exists already, and is not replaced\n`)
      const file = join(directory.path, path)
      assert.equal(statSync(file).mode & 0o777, 0o600)
      const { PASSWORD = '', SECRET_TOKEN = '', ...others } = parseEnv(readFileSync(file, 'utf8'))
      assert.deepEqual(others, { DB_URL: 'sqlite:data/books.db', USERNAME: 'admin' })
      assert.ok(PASSWORD.length >= 20 && Buffer.byteLength(SECRET_TOKEN) >= 32)
      rmSync(file)
    })

  it('init says that it cannot write, and token what it needs', async () => {
    const [init, token] = await runAll(directory.path, [['init', '--settings', 'none/x.env'], ['token']])
    assertSaid(init, '', /^Cannot write the settings: none\/x\.env cannot be written: ENOENT.*\n$/)
    assertSaid(token, '', /^Cannot make a token: SECRET_TOKEN is not set/)
  })
})

describe('beside the running service', () => {
  const service = useService(({ importBooks }) =>
    importBooks.call(
      service,
      [-2, -1, 0, 1, 2].map((year) => ({ title: '=1+1', author: 'a,b', year })),
    ),
  )
  const path = (name: string) => join(service.directory, name)
  const contentOf = (name: string) => readFileSync(path(name), 'utf8')
  const settings = { DB_URL: 'sqlite:books.db', SECRET_TOKEN: SECRET }
  /** Starts a command whose streams the test reads and writes. @returns how it ends too, with what it said of errors. */
  function begin(variables: Record<string, string>, ...args: string[]) {
    const env = { ...INHERITED, ...settings, ...variables }
    const child = spawn(process.execPath, [MAIN, ...args], { cwd: service.directory, env })
    const errors = text(child.stderr).then(withoutStores)
    return { child, ended: Promise.all([once(child, 'exit'), errors]) }
  }
  const rowsBy = async (author: string) => {
    const headers = { authorization: service.token }
    const list = await (await fetch(`${service.url}/books?author=${author}`, { headers })).json()
    return (list as { data: Book[] }).data.map(({ title, year }) => `${title} ${year}`)
  }
  const CSV = `id,title,author,year\r\n${[1, 2, 3, 4, 5].map((id) => `${id},=1+1,"a,b",${id - 3}\r\n`).join('')}`
  const FILES: Record<string, string | Buffer> = {
    'new.csv': 'title,author,year\nT,imported,1\nU,imported,2\n,,\n',
    'bad.csv': 'title,author,year\nT,imported,3\nT,imported,x\nT\n',
    'some.csv': 'title,author,year\nT,some,x\nT,some,3\nT\nU,some,4\n',
    'list.csv': 'Titel,"Name,Vorname",Jahr\nT,A,1999\nU,A,\n',
    'no-years.csv': 'Author,Title\nA,T\n',
    'latin.csv': Buffer.from('title,author,year\nGr\xfc\xdfe,encoded,1\n', 'latin1'),
    'array.json': '[{"title":"T","author":"A","year":1}]',
    'books.xml': '',
    'more.csv': `title,author,year\n${'T,A,x\n'.repeat(102)}`,
    'text.db': 'no database at all, but text of some length '.repeat(99),
  }
  const lineOf = (line: number) => `\n  line ${line}: year: ${NO_YEAR}`
  const hundred = `line 2: year: ${NO_YEAR}${Array.from({ length: 99 }, (_, i) => lineOf(i + 3)).join('')}\n`
  const bad = `2 of 3 rows cannot be stored; line 3: year: ${NO_YEAR}\n  line 4: ${WIDTH}\n`
  const some = `some.csv: 2 of 4 rows cannot be stored; line 2: year: ${NO_YEAR}\n  line 4: ${WIDTH}\n`

  /** The command lines, in this order, and what they say. */
  const SAID: readonly (readonly [args: string, stdout: string | RegExp, stderr?: string | RegExp])[] = [
    ['export all.csv', '', 'wrote 5 books to all.csv\n'],
    ['export all.csv', '', 'Cannot export: all.csv exists already; name another file\n'],
    ['export -', CSV],
    ['export - --format ndjson', /^\{"id":1,"title":"=1\+1","author":"a,b","year":-2\}\n/],
    ['export x', '', /^book-catalogue: the name of x does not end with \.csv or \.ndjson; /],
    ['export - --format json', '', /--format is csv or ndjson\n/],
    ['export none/all.csv', '', /^Cannot export: none\/all\.csv cannot be written: ENOENT/],
    ['export sheet.csv --spreadsheet', '', 'wrote 5 books to sheet.csv\n'],
    ['import sheet.csv --skip-existing', 'added 0 books, skipped 5\n'],
    ['export x.ndjson --spreadsheet', '', /^book-catalogue: --spreadsheet writes csv, not ndjson\nSee: /],
    ['import new.csv --dry-run', 'would add 2 books, skipped 0; left out 1 empty row\n'],
    ['import new.csv', 'added 2 books, skipped 0; left out 1 empty row\n'],
    ['import new.csv', 'added 0 books, skipped 2; left out 1 empty row\n'],
    ['import new.csv --no-skip-existing --dry-run', 'would add 2 books, skipped 0; left out 1 empty row\n'],
    ['import bad.csv', '', `Cannot import: bad.csv: ${bad}`],
    ['import none.csv', '', /^Cannot import: none\.csv cannot be read: ENOENT.*\n$/],
    [
      'import more.csv',
      '',
      `Cannot import: more.csv: 102 of 102 rows cannot be stored; ${hundred}  and 2 more\n`,
    ],
    [
      'import some.csv --skip-faulty --dry-run',
      'would add 2 books, skipped 0; left out 2 faulty rows\n',
      some,
    ],
    ['import some.csv --skip-faulty', 'added 2 books, skipped 0; left out 2 faulty rows\n', some],
    [
      'import list.csv --dry-run --columns title=Titel,author="Name,Vorname",year=Jahr',
      'would add 2 books, skipped 0; year 0 for 1 book without a year\n',
    ],
    [
      'import no-years.csv',
      '',
      /columns "Author", "Title", and .* the year; name it, .*, with --columns 'year=Jahr' or --columns 'year='\n$/,
    ],
    [
      'import list.csv --columns title=T,title=T',
      '',
      /^book-catalogue: --columns names the column of one or more of/,
    ],
    ['import latin.csv --encoding Windows-1252', 'added 1 book, skipped 0\n'],
    [
      'import latin.csv --encoding=',
      '',
      /^book-catalogue: --encoding is a name that web browsers know, such as/,
    ],
    ['import array.json --dry-run', 'would add 1 book, skipped 0\n'],
    [
      'import books.xml',
      '',
      /^book-catalogue: the name of books\.xml does not end with \.csv, \.ndjson or \.json; /,
    ],
    ['check', 'The settings are good, and the store (sqlite) answers: 10 books.\n'],
    ['copy --from sqlite:x.db', '', /^book-catalogue: copy needs --from and --to\n/],
    ['backup copy.db', /^\/.*\/books\.db is backed up in copy\.db\n$/],
    ['backup new.csv', '', /^Cannot back up: new\.csv exists already.*\n$/],
    ['backup none/a.db', '', /^Cannot back up: there is no directory \S+\n$/],
  ]
  let all: Ended[] = []
  before(async () => {
    for (const [name, content] of Object.entries(FILES)) writeFileSync(path(name), content)
    const lines = SAID.map(([args]) => args.split(' '))
    all = await runAll(service.directory, lines, settings)
  })

  for (const [index, [args, stdout, stderr]] of SAID.entries())
    it(args, () => assertSaid(all[index], stdout, stderr))

  it('files and books are there after these commands, and nothing else', async () => {
    assert.equal(contentOf('all.csv'), CSV)
    assert.equal(contentOf('sheet.csv'), `\ufeffbook-catalogue ${CSV.replaceAll('=1+1', "'=1+1")}`)
    const names = new Set([...Object.keys(FILES), 'all.csv', 'sheet.csv', 'copy.db'])
    const others = readdirSync(service.directory).filter(
      (name) => !names.has(name) && !name.startsWith('books.db'),
    )
    assert.deepEqual(others, [])
    assert.deepEqual(await rowsBy('imported'), ['T 1', 'U 2'])
    assert.deepEqual(await rowsBy('some'), ['T 3', 'U 4'])
    assert.deepEqual(await rowsBy('encoded'), ['Grüße 1'])
  })

  it('commands name the stores that they use, by absolute paths', async () => {
    const DB_URL = `sqlite:${realpathSync(path('books.db'))}`
    for (const args of ['import new.csv', 'export -', 'check'])
      assert.match(
        all[SAID.findIndex(([said]) => said === args)]?.stderr ?? '',
        RegExp(`^DB_URL: using ${DB_URL}\n`),
      )
    const copying = ['copy', '--from', 'sqlite:books.db', '--to', 'sqlite:named.db']
    const [copied] = await runAll(service.directory, [copying], settings)
    const named = DB_URL.replace('books.db', 'named.db')
    assert.equal(copied?.stderr, `--from: using ${DB_URL}\n--to: using ${named}\n`)
    assert.ok(service.output().includes(`"database":"${DB_URL}"`))
  })

  it('commands say that there is no database, or none that they can use, and make none', async () => {
    const there = ['export x.csv', 'backup x.db', 'check'].map((args) => args.split(' '))
    const none = await runAll(service.directory, there, { DB_URL: 'sqlite:none.db' })
    assertSaid(none[0], '', /^Cannot export: DB_URL: there is no database \/.*\/none\.db\n$/)
    assertSaid(none[1], '', /^Cannot back up: there is no database \/.*\/none\.db\n$/)
    assertSaid(
      none[2],
      /^warning: SECRET_TOKEN is not set.*\nThe settings are good\. .*\/none\.db is made at the first/,
    )
    assert.ok(!existsSync(path('none.db')))
    const [text] = await runAll(service.directory, [['check']], {
      DB_URL: 'sqlite:text.db',
      SECRET_TOKEN: SECRET,
    })
    assertSaid(text, '', /^Cannot start with these settings: DB_URL: the database file text\.db.*\n$/)
    const [server] = await runAll(service.directory, [['backup', 'x.db']], { DB_URL: 'mysql://u:p@h/d' })
    assertSaid(server, '', /^Cannot back up: DB_URL: names a server, whose own tools make backups of it /)
  })

  it('copy copies nothing when it is interrupted before it has read the books', async () => {
    const copying = ['copy', '--from', 'sqlite:books.db', '--to', 'sqlite:interrupted.db']
    const [copied] = await runAll(service.directory, [copying], { INTERRUPT_AT: '--to: using' })
    assertSaid(copied, '', 'Cannot copy: interrupted; the books were not copied\n')
    const [exported] = await runAll(service.directory, [['export', '-']], { DB_URL: 'sqlite:interrupted.db' })
    assertSaid(exported, 'id,title,author,year\r\n')
  })

  it('token prints a token that the service accepts', async () => {
    const { stdout } = await runCommand(service.directory, settings, 'token')
    const headers = { authorization: stdout.trimEnd() }
    assert.equal((await fetch(`${service.url}/books`, { headers })).status, 200)
  })

  it('export ends when it is interrupted, or when nobody reads any more', async () => {
    const DB_URL = `sqlite:${path('long.db')}`
    const store = await openStore(parseDbUrl(DB_URL), { timeout: 60_000 })
    await store.import(Readable.from([Array(5000).fill({ title: 'x'.repeat(400), author: 'A', year: 1 })]))
    await store.close()
    for (const event of ['data', 'readable']) {
      const { child, ended } = begin({ DB_URL }, 'export', '-')
      await once(child.stdout, event)
      child.kill('SIGINT')
      child.stdout.resume()
      assert.deepEqual(await ended, [[1, null], 'Cannot export: interrupted; nothing is left behind\n'])
    }
    for (const url of ['sqlite:books.db', DB_URL]) {
      const { child, ended } = begin({ DB_URL: url }, 'export', '-')
      child.stdout.destroy()
      const message = 'Cannot export: the output cannot be written: write EPIPE\n'
      assert.deepEqual(await ended, [[1, null], message], url)
    }
  })

  it('import reads standard input, as CSV unless it is told otherwise', async () => {
    for (const [input, ...options] of [
      ['title,author,year\nT,piped,1\n'],
      ['[{"title":"T","author":"piped","year":1}]', '--format', 'json'],
    ] as const) {
      const { child, ended } = begin({}, 'import', '-', '--dry-run', ...options)
      child.stdin.end(input)
      assert.equal(await text(child.stdout), 'would add 1 book, skipped 0\n')
      assert.deepEqual(await ended, [[0, null], ''])
    }
  })

  for (const [when, input] of [
    ['before anything is there to read', ''],
    ['in the middle of the file', 'title,author,year\nT,interrupted,1\n'],
  ] as const)
    it(`import stores nothing when it is interrupted ${when}`, async () => {
      const { child, ended } = begin({}, 'import', '-')
      child.stdin.write(input)
      // The store is being opened.
      await once(child.stderr, 'readable')
      child.kill('SIGINT')
      assert.deepEqual(await ended, [[1, null], 'Cannot import: interrupted; nothing was stored\n'])
      assert.deepEqual(await rowsBy('interrupted'), [])
    })

  it('commands read the settings from the file that --settings names, and then from no .env', async (t) => {
    t.after(() => rmSync(path('.env')))
    writeFileSync(path('service.env'), '\uFEFFDB_URL="sqlite:books.db"\nPORT=1\n')
    writeFileSync(path('.env'), 'DB_URL=sqlite:other.db\nPORT=x\n')
    const used = async (environment: Record<string, string>, ...args: string[]) =>
      /\/(\w+\.db)\n$/.exec(
        (await runCommand(service.directory, environment, 'export', ...args, '-')).stderr,
      )?.[1]
    const named = ['--settings', 'service.env']
    assert.equal(await used({}, ...named), 'books.db')
    assert.equal(await used({ DB_URL: 'sqlite:environment.db' }, ...named), 'environment.db')
    assert.equal(await used({ PORT: '1' }), 'other.db')
    writeFileSync(path('pg.env'), 'DB_URL=postgres://u@h/d\nPGSSLMODE=wrong\n')
    const libpq = await runCommand(service.directory, {}, 'check', '--settings', 'pg.env')
    assert.match(libpq.stderr, /DB_URL has a sslmode other than/)
    const missing = await runCommand(service.directory, settings, 'check', '--settings', 'missing.env')
    assertSaid(
      missing,
      '',
      /^Cannot start with these settings: the file missing\.env cannot be read: ENOENT.*\n$/,
    )
  })

  for (const suffixes of [['', '-wal', '-shm'], ['']])
    it(`commands read a database that cannot be written, nor its directory: ${suffixes}`, async (t) => {
      const directory = path(`read-only-${suffixes.length}`)
      mkdirSync(directory)
      t.after(() => chmodSync(directory, 0o700))
      const file = join(directory, 'books.db')
      await runAll(service.directory, [['copy', '--from', 'sqlite:books.db', '--to', `sqlite:${file}.new`]])
      using database = new DatabaseSync(`${file}.new`)
      database.exec('UPDATE books SET year = 7')
      if (suffixes.length === 1) database.exec('PRAGMA wal_checkpoint')
      for (const suffix of suffixes) {
        copyFileSync(`${file}.new${suffix}`, file + suffix)
        chmodSync(file + suffix, 0o444)
      }
      chmodSync(directory, 0o555)
      // The superuser may write everywhere, unless this is taken from it.
      const drop = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override', '--'] : ['env']
      const readOnly = async (DB_URL: string, ...args: string[]) => {
        const [program = '', ...words] = [...drop, process.execPath, MAIN, ...args]
        const env = { ...INHERITED, SECRET_TOKEN: SECRET, DB_URL }
        return await promisify(execFile)(program, words, { cwd: service.directory, env })
      }
      const url = `sqlite:${file}`
      const exported = await readOnly(url, 'export', '-')
      assert.equal(exported.stdout.split('\n')[1], '1,=1+1,"a,b",7\r')
      const note = /this user can only read the file, and cannot run the service on it: .*mode 444/
      assert.match(exported.stderr, note)
      const checked = await readOnly(url, 'check')
      assert.equal(checked.stdout, 'The settings are good, and the store (sqlite) answers: 10 books.\n')
      assert.match(checked.stderr, note)
      await readOnly(url, 'copy', '--from', url, '--to', `sqlite:copy-${suffixes.length}.db`)
      const denied = /Cannot import: DB_URL: .*attempt to write a readonly database; /
      await assert.rejects(readOnly(url, 'import', '-'), denied)
      const none = readOnly(`sqlite:${directory}/none.db`, 'check')
      await assert.rejects(none, /none\.db cannot be made: .*mode 555, not writable: EACCES/)
    })
})
