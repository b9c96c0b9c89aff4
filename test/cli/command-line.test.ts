import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
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
import { after, describe, it } from 'node:test'
import { parseEnv, promisify } from 'node:util'
import type { Book } from '../../src/catalogue/book.ts'
import { parseDbUrl } from '../../src/store/db-url.ts'
import { openStore } from '../../src/store/open.ts'
import { type Ended, MAIN, runCommand, withoutStores } from '../support/command.ts'
import { INHERITED, SECRET, temporaryDirectory } from '../support/service.ts'
import { useService } from '../support/use-service.ts'

const COMMANDS = readdirSync(join(import.meta.dirname, '../../src/cli/commands')).map((name) =>
  name.slice(0, -3),
)
const STACK = /^\s+at /m

describe('the command line', () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  const run = (...args: string[]) => runCommand(directory.path, {}, ...args)

  /** Runs command lines that do no work, one after the other in one process. @returns how each ended. */
  async function runAll(...commandLines: string[][]): Promise<Ended[]> {
    const script = `
      import { runCommandLine } from ${JSON.stringify(resolve(MAIN, '../cli/command-line.ts'))}
      const { stdout, stderr } = process
      const write = stdout.write.bind(stdout)
      const ended = []
      for (const args of ${JSON.stringify(commandLines)}) {
        const said = { stdout: '', stderr: '' }
        stdout.write = (text) => (said.stdout += text) !== ''
        stderr.write = (text) => (said.stderr += text) !== ''
        process.exitCode = 0
        await runCommandLine(args)
        ended.push({ code: process.exitCode, ...said })
      }
      process.exitCode = 0
      write(JSON.stringify(ended))`
    const options = { cwd: directory.path, env: INHERITED }
    const node = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], options)
    return JSON.parse((await node).stdout)
  }

  it('lists every command', async () => {
    for (const { code, stdout } of await runAll(['--help'], ['-h'], ['help'])) {
      assert.equal(code, 0)
      for (const name of COMMANDS) assert.match(stdout, new RegExp(`^  ${name} `, 'm'))
    }
  })

  it('prints its version', async () => {
    const { version } = JSON.parse(readFileSync(resolve(MAIN, '../../package.json'), 'utf8'))
    const expected = { code: 0, stdout: `${version}\n`, stderr: '' }
    assert.deepEqual(await runAll(['--version'], ['-v']), [expected, expected])
  })

  it('tells how each command is used, and refuses what it does not know with exit code 2', async () => {
    const all = await runAll(
      ...COMMANDS.flatMap((name) =>
        ['--help', '-h', '--unknown', 'a b c'].map((args) => [name, ...args.split(' ')]),
      ),
    )
    for (const [i, { code, stdout, stderr }] of all.entries()) {
      const name = COMMANDS[Math.floor(i / 4)]
      if (i % 4 < 2) {
        assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
        assert.ok(stdout.startsWith(`Usage: book-catalogue ${name}`))
      } else {
        assert.deepEqual({ code, stdout }, { code: 2, stdout: '' })
        assert.match(stderr, new RegExp(`^book-catalogue: .+\nSee: book-catalogue ${name} --help\n$`))
      }
    }
  })

  it('refuses an unknown command with exit code 2', async () => {
    for (const { code, stderr } of await runAll(['unknown'], ['toString'], ['--unknown'])) {
      assert.equal(code, 2)
      assert.match(stderr, /^book-catalogue: there is no command ".+"\nSee: book-catalogue --help\n$/)
    }
  })

  it('is what npx runs', async () => {
    const bin = resolve(import.meta.dirname, '../../bin/book-catalogue.js')
    const { stdout } = await promisify(execFile)(process.execPath, [bin, '--help'])
    assert.match(stdout, /^Usage: book-catalogue/)
    await assert.rejects(promisify(execFile)(process.execPath, [bin, 'unknown']), { code: 2 })
  })

  it('init writes settings with which the service starts, for its user alone, and never replaces them', async () => {
    for (const [path, ...options] of [['.env'], ['other.env', '--settings', 'other.env']] as const) {
      const { code, stdout, stderr } = await run('init', ...options)
      assert.deepEqual([code, stderr], [0, ''])
      const start = path === '.env' ? 'in this directory: npm start' : `with --settings ${path}`
      const next = `Look through it, then start the service ${start}\n`
      assert.equal(stdout, `${path} has a new SECRET_TOKEN and a new PASSWORD. ${next}`)
      const file = join(directory.path, path)
      assert.equal(statSync(file).mode & 0o777, 0o600)
      const content = readFileSync(file, 'utf8')
      const { DB_URL, USERNAME, PASSWORD = '', SECRET_TOKEN = '', ...others } = parseEnv(content)
      assert.deepEqual([DB_URL, USERNAME, others], ['sqlite:data/books.db', 'admin', {}])
      assert.ok(PASSWORD.length >= 20 && Buffer.byteLength(SECRET_TOKEN) >= 32)
      assert.ok(!stdout.includes(PASSWORD))
      const checked = await run('check', ...options)
      assert.deepEqual([checked.code, /warning/.test(checked.stdout)], [0, false])
      const again = await run('init', ...options)
      assert.equal(again.code, 1)
      assert.equal(again.stderr, `Cannot write the settings: ${path} exists already, and is not replaced\n`)
      assert.equal(readFileSync(file, 'utf8'), content)
      rmSync(file)
    }
    const { code, stderr } = await run('init', '--settings', 'none/x.env')
    assert.equal(code, 1)
    assert.match(stderr, /^Cannot write the settings: none\/x\.env cannot be written: ENOENT.*\n$/)
  })

  it('names every faulty setting, with exit code 1 and without a stack trace', async () => {
    for (const name of ['check', 'token', 'serve']) {
      const { code, stderr } = await runCommand(directory.path, { PORT: 'x', DB_URL: 'y:' }, name)
      assert.equal(code, 1)
      assert.match(stderr, /PORT is "x"/)
      assert.match(stderr, /DB_URL has/)
      assert.doesNotMatch(stderr, STACK)
    }
  })
})

describe('commands beside the running service', () => {
  const service = useService(async ({ createBook }) => {
    for (let year = -2; year <= 2; year++)
      await createBook.call(service, { title: '=1+1', author: 'a,b', year })
  })
  const settings = { DB_URL: 'sqlite:books.db', SECRET_TOKEN: SECRET }
  const run = (...args: string[]) => runCommand(service.directory, settings, ...args)
  /** Starts a command whose streams the test reads and writes. @returns how it ends too, with its two outputs. */
  function begin(variables: Record<string, string>, ...args: string[]) {
    const env = { ...INHERITED, ...settings, ...variables }
    const options = { cwd: service.directory, env, timeout: 60_000, killSignal: 'SIGKILL' } as const
    const child = spawn(process.execPath, [MAIN, ...args], options)
    const errors = text(child.stderr).then(withoutStores)
    return { child, ended: Promise.all([once(child, 'exit'), errors]) }
  }
  const booksBy = async (author: string) => {
    const headers = { authorization: service.token }
    const list = await (await fetch(`${service.url}/books?author=${author}`, { headers })).json()
    return (list as { data: Book[] }).data
  }
  const CSV = `id,title,author,year\r\n${[1, 2, 3, 4, 5].map((id) => `${id},=1+1,"a,b",${id - 3}\r\n`).join('')}`

  it('export writes all books to a file, and never replaces one', async () => {
    const { code, stderr } = await run('export', 'all.csv')
    assert.deepEqual([code, withoutStores(stderr)], [0, 'wrote 5 books to all.csv\n'])
    assert.equal(readFileSync(join(service.directory, 'all.csv'), 'utf8'), CSV)
    const again = await run('export', 'all.csv')
    assert.deepEqual(
      [again.code, withoutStores(again.stderr)],
      [1, 'Cannot export: all.csv exists already; name another file\n'],
    )
    assert.deepEqual(
      readdirSync(service.directory).filter((name) => name.includes('part')),
      [],
    )
  })

  it('export writes to standard output, in the format that is asked for', async () => {
    assert.equal((await run('export', '-')).stdout, CSV)
    const { stdout } = await run('export', '-', '--format', 'ndjson')
    assert.equal(stdout.split('\n')[0], '{"id":1,"title":"=1+1","author":"a,b","year":-2}')
    assert.equal((await run('export', 'x')).code, 2)
    const { code, stderr } = await run('export', '-', '--format', 'json')
    assert.equal(code, 2)
    assert.match(stderr, /--format is csv or ndjson\n/)
  })

  it('export writes CSV for spreadsheets, which import reads back', async () => {
    const { code } = await run('export', 'sheet.csv', '--spreadsheet')
    assert.equal(code, 0)
    const sheet = readFileSync(join(service.directory, 'sheet.csv'), 'utf8')
    assert.equal(sheet, `\ufeffbook-catalogue ${CSV.replaceAll('=1+1', "'=1+1")}`)
    const imported = await run('import', 'sheet.csv', '--skip-existing')
    assert.equal(imported.stdout, 'added 0 books, skipped 5\n')
    const lines = await run('export', 'sheet.ndjson', '--spreadsheet')
    assert.deepEqual(
      [lines.code, lines.stderr],
      [2, 'book-catalogue: --spreadsheet writes csv, not ndjson\nSee: book-catalogue export --help\n'],
    )
  })

  it('export ends when it is interrupted, whether somebody reads what it writes or not', async () => {
    const DB_URL = `sqlite:${join(service.directory, 'long.db')}`
    const store = await openStore(parseDbUrl(DB_URL))
    await store.import(Readable.from([Array(5000).fill({ title: 'x'.repeat(400), author: 'A', year: 1 })]))
    await store.close()
    for (const event of ['data', 'readable']) {
      const { child: exporting, ended } = begin({ DB_URL }, 'export', '-')
      await once(exporting.stdout, event)
      exporting.kill('SIGINT')
      exporting.stdout.resume()
      assert.deepEqual(await ended, [[1, null], 'Cannot export: interrupted; nothing is left behind\n'])
    }
  })

  it('export says in one line that nobody reads any more, whether much or little is left', async () => {
    for (const DB_URL of ['sqlite:books.db', 'sqlite:long.db']) {
      const { child, ended } = begin({ DB_URL }, 'export', '-')
      child.stdout.destroy()
      const message = 'Cannot export: the output cannot be written: write EPIPE\n'
      assert.deepEqual(await ended, [[1, null], message], DB_URL)
    }
  })

  it('export says in one line what is wrong with the file', async () => {
    const { code, stderr } = await run('export', 'none/all.csv')
    assert.equal(code, 1)
    assert.match(withoutStores(stderr), /^Cannot export: none\/all\.csv cannot be written: ENOENT.*\n$/)
  })

  it('name the store that they use, by its absolute path', async () => {
    const DB_URL = `sqlite:${join(realpathSync(service.directory), 'books.db')}`
    writeFileSync(join(service.directory, 'empty.csv'), 'title,author,year\n')
    for (const args of [['import', 'empty.csv'], ['export', '-'], ['check']])
      assert.equal((await run(...args)).stderr, `DB_URL: using ${DB_URL}\n`)
    const copied = await run('copy', '--from', 'sqlite:books.db', '--to', 'sqlite:named.db')
    assert.equal(
      copied.stderr,
      `--from: using ${DB_URL}\n--to: using ${DB_URL.replace('books.db', 'named.db')}\n`,
    )
    assert.match(
      (await run('backup', 'named.copy')).stdout,
      new RegExp(`^${DB_URL.slice('sqlite:'.length)} is`),
    )
    assert.ok(service.output().includes(`"database":"${DB_URL}"`))
  })

  it('import adds a file beside the running service, all or nothing', async () => {
    const write = (name: string, text: string) => writeFileSync(join(service.directory, name), text)
    write('new.csv', 'title,author,year\nT,imported,1\nU,imported,2\n,,\n')
    const end = '; left out 1 empty row\n'
    const dry = await run('import', 'new.csv', '--dry-run')
    assert.deepEqual([dry.code, dry.stdout], [0, `would add 2 books, skipped 0${end}`])
    const { code, stdout } = await run('import', 'new.csv')
    assert.deepEqual([code, stdout], [0, `added 2 books, skipped 0${end}`])
    for (const options of [[], ['--skip-existing']])
      assert.equal((await run('import', 'new.csv', ...options)).stdout, `added 0 books, skipped 2${end}`)
    write('bad.csv', 'title,author,year\nT,imported,3\nT,imported,x\nT\n')
    const bad = await run('import', 'bad.csv')
    assert.equal(bad.code, 1)
    assert.equal(
      withoutStores(bad.stderr),
      'Cannot import: bad.csv: 2 of 3 rows cannot be stored; line 3: year: "x" is not a year (a whole number ' +
        'such as 1979 or -500)\n  line 4: the number of fields is 1, not 3 as in the first line\n',
    )
    const none = await run('import', 'none.csv')
    assert.equal(none.code, 1)
    assert.match(withoutStores(none.stderr), /^Cannot import: none\.csv cannot be read: ENOENT.*\n$/)
    assert.equal((await booksBy('imported')).length, 2)
    const again = await run('import', 'new.csv', '--no-skip-existing', '--dry-run')
    assert.equal(again.stdout, `would add 2 books, skipped 0${end}`)
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
    })

  it('import prints a line for each of the first hundred faulty rows, and how many more there are', async () => {
    const write = (rows: number) =>
      writeFileSync(join(service.directory, 'faulty.csv'), `title,author,year\n${'T,A,x\n'.repeat(rows)}`)
    write(100)
    const hundred = withoutStores((await run('import', 'faulty.csv')).stderr).split('\n')
    assert.deepEqual([hundred.length, hundred.at(-2)?.slice(0, 18)], [101, '  line 101: year: '])
    write(102)
    const more = withoutStores((await run('import', 'faulty.csv')).stderr)
    assert.ok(more.endsWith('\n  and 2 more\n'), more)
  })

  it('import leaves out faulty rows if it is told to, and prints them', async () => {
    writeFileSync(join(service.directory, 'some.csv'), 'title,author,year\nT,some,x\nT,some,3\nT\nU,some,4\n')
    const faults =
      'some.csv: 2 of 4 rows cannot be stored; line 2: year: "x" is not a year (a whole number such ' +
      'as 1979 or -500)\n  line 4: the number of fields is 1, not 3 as in the first line\n'
    const dry = await run('import', 'some.csv', '--skip-faulty', '--dry-run')
    assert.deepEqual(
      [dry.code, dry.stdout, withoutStores(dry.stderr)],
      [0, 'would add 2 books, skipped 0; left out 2 faulty rows\n', faults],
    )
    const { code, stdout, stderr } = await run('import', 'some.csv', '--skip-faulty')
    assert.deepEqual(
      [code, stdout, withoutStores(stderr)],
      [0, 'added 2 books, skipped 0; left out 2 faulty rows\n', faults],
    )
    assert.deepEqual(
      (await booksBy('some')).map(({ year }) => year),
      [3, 4],
    )
  })

  it('import takes the columns that are named, and says how to name them', async () => {
    writeFileSync(join(service.directory, 'list.csv'), 'Titel,"Name, Vorname",Jahr\nT,A,1999\nU,A,\n')
    const dryRun = (columns: string) => run('import', 'list.csv', '--dry-run', '--columns', columns)
    const { stdout } = await dryRun('title=Titel,author="Name, Vorname",year=Jahr')
    assert.equal(stdout, 'would add 2 books, skipped 0; year 0 for 1 book without a year\n')
    const missing = await dryRun('title=Title')
    assert.deepEqual(
      [missing.code, withoutStores(missing.stderr)],
      [
        1,
        'Cannot import: list.csv: there is no column "Title"; the file has the columns "Titel", "Name, Vorname", "Jahr"\n',
      ],
    )
    writeFileSync(join(service.directory, 'no-years.csv'), 'Author,Title\nA,T\n')
    const year = await run('import', 'no-years.csv')
    assert.match(
      year.stderr,
      /columns "Author", "Title", and .* the year; name it, .*, with --columns 'year=Jahr' or --columns 'year='\n$/,
    )
    const { code, stderr } = await dryRun('title=Titel,title=Titel')
    assert.equal(code, 2)
    assert.match(
      stderr,
      /^book-catalogue: --columns names the column of one or more of title, author and year, each once, as in title=/,
    )
  })

  it('import reads the encoding that is named, and says which names there are', async () => {
    writeFileSync(
      join(service.directory, 'latin.csv'),
      'title,author,year\nGr\xfc\xdfe,encoded,1\n',
      'latin1',
    )
    const { stdout } = await run('import', 'latin.csv', '--encoding', 'Windows-1252')
    assert.equal(stdout, 'added 1 book, skipped 0\n')
    assert.equal((await booksBy('encoded'))[0]?.title, 'Grüße')
    const { code, stderr } = await run('import', 'latin.csv', '--encoding', '')
    assert.equal(code, 2)
    assert.match(
      stderr,
      /^book-catalogue: --encoding is a name that web browsers know, such as windows-1252, .*\n/,
    )
  })

  it('import takes a file for what its name says, and names what it is that it cannot read', async () => {
    for (const [name, text, expected] of [
      ['array.json', '[{"title":"T","author":"A","year":1}]', 'would add 1 book, skipped 0\n'],
      ['lines.ndjson', '{"title":"T","author":"A","year":1}', 'would add 1 book, skipped 0\n'],
      [
        'excel.csv',
        'PK\x03\x04',
        /^Cannot import: excel\.csv: the file is a spreadsheet .*; save it as CSV in UTF-8\n$/,
      ],
      [
        'books.xml',
        '',
        /^book-catalogue: the name of books\.xml does not end with \.csv, \.ndjson or \.json; save it in one/,
      ],
    ] as const) {
      writeFileSync(join(service.directory, name), text)
      const { stdout, ...ended } = await run('import', name, '--dry-run')
      const stderr = withoutStores(ended.stderr)
      if (typeof expected === 'string') assert.deepEqual([stdout, stderr], [expected, ''])
      else assert.match(stderr, expected)
    }
  })

  it('token prints a token that the service accepts, if it knows the secret', async () => {
    const { stdout } = await run('token')
    const headers = { authorization: stdout.trimEnd() }
    assert.equal((await fetch(`${service.url}/books`, { headers })).status, 200)
    const { code, stderr } = await runCommand(service.directory, {}, 'token')
    assert.equal(code, 1)
    assert.match(stderr, /^Cannot make a token: SECRET_TOKEN is not set/)
  })

  it('check tells that the store answers, and what is wrong with it, and makes no file', async () => {
    const { code, stdout } = await run('check')
    assert.deepEqual(
      [code, stdout],
      [0, 'The settings are good, and the store (sqlite) answers: 10 books.\n'],
    )
    const none = await runCommand(service.directory, { ...settings, DB_URL: 'sqlite:none.db' }, 'check')
    assert.equal(none.code, 0)
    assert.ok(!existsSync(join(service.directory, 'none.db')))
    writeFileSync(
      join(service.directory, 'text.db'),
      'no database at all, but text of some length '.repeat(99),
    )
    const text = await runCommand(service.directory, { ...settings, DB_URL: 'sqlite:text.db' }, 'check')
    assert.equal(text.code, 1)
    assert.match(
      withoutStores(text.stderr),
      /^Cannot start with these settings: DB_URL: the database file text\.db.*\n$/,
    )
  })

  it('read the settings from the file that --settings names, and then from no .env', async (t) => {
    t.after(() => rmSync(join(service.directory, '.env')))
    const write = (name: string, text: string) => writeFileSync(join(service.directory, name), text)
    write('service.env', '\uFEFFDB_URL="sqlite:books.db"\nPORT=1\n')
    write('.env', 'DB_URL=sqlite:other.db\nPORT=x\n')
    const used = async (environment: Record<string, string>, ...args: string[]) =>
      /\/(\w+\.db)\n$/.exec(
        (await runCommand(service.directory, environment, 'export', ...args, '-')).stderr,
      )?.[1]
    assert.equal(await used({}, '--settings', 'service.env'), 'books.db')
    assert.equal(
      await used({ DB_URL: 'sqlite:environment.db' }, '--settings', 'service.env'),
      'environment.db',
    )
    assert.equal(await used({ PORT: '1' }), 'other.db')
    write('pg.env', 'DB_URL=postgres://u@h/d\nPGSSLMODE=wrong\n')
    const libpq = await runCommand(service.directory, {}, 'check', '--settings', 'pg.env')
    assert.match(libpq.stderr, /DB_URL has a sslmode other than/)
    const { code, stderr } = await run('check', '--settings', 'missing.env')
    assert.equal(code, 1)
    assert.match(
      stderr,
      /^Cannot start with these settings: the file missing\.env cannot be read: ENOENT.*\n$/,
    )
  })

  for (const [what, suffixes] of [
    ['with what a service left beside it', ['', '-wal', '-shm']],
    ['alone', ['']],
  ] as const)
    it(`read a database that cannot be written, nor its directory, ${what}`, async (t) => {
      const directory = join(service.directory, `read-only-${suffixes.length}`)
      const path = join(directory, 'books.db')
      mkdirSync(directory)
      t.after(() => chmodSync(directory, 0o700))
      assert.equal((await run('copy', '--from', 'sqlite:books.db', '--to', `sqlite:${path}.new`)).code, 0)
      using database = new DatabaseSync(`${path}.new`)
      database.exec('UPDATE books SET year = 7')
      if (suffixes.length === 1) database.exec('PRAGMA wal_checkpoint')
      for (const suffix of suffixes) {
        copyFileSync(`${path}.new${suffix}`, path + suffix)
        chmodSync(path + suffix, 0o444)
      }
      chmodSync(directory, 0o555)
      // The superuser may write everywhere, unless this is taken from it.
      const drop = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override', '--'] : ['env']
      const readOnly = async (...args: string[]) => {
        const [file = '', ...words] = [...drop, process.execPath, MAIN, ...args]
        const env = { ...INHERITED, SECRET_TOKEN: SECRET, DB_URL: `sqlite:${path}` }
        return await promisify(execFile)(file, words, { cwd: service.directory, env })
      }
      const exported = await readOnly('export', '-')
      assert.equal(exported.stdout.split('\n')[1], '1,=1+1,"a,b",7\r')
      assert.match(
        exported.stderr,
        /this user can only read the file, and cannot run the service on it: .*mode 444/,
      )
      const books = database.prepare('SELECT count(*) AS books FROM books').get()?.books
      const checked = await readOnly('check')
      assert.equal(checked.stdout, `The settings are good, and the store (sqlite) answers: ${books} books.\n`)
      assert.match(checked.stderr, /this user can only read the file/)
      await readOnly('copy', '--from', `sqlite:${path}`, '--to', `sqlite:copy-${suffixes.length}.db`)
      await assert.rejects(
        readOnly('import', '-'),
        /Cannot import: DB_URL: .*attempt to write a readonly database; /,
      )
      await assert.rejects(
        promisify(execFile)(drop[0] ?? '', [...drop.slice(1), process.execPath, MAIN, 'check'], {
          env: { ...INHERITED, DB_URL: `sqlite:${directory}/none.db` },
        }),
        /none\.db cannot be made: .*mode 555, not writable: EACCES/,
      )
    })

  it('say that there is no database, and make none', async () => {
    const { code, stderr } = await runCommand(
      service.directory,
      { DB_URL: 'sqlite:no.db' },
      'export',
      'x.csv',
    )
    assert.equal(code, 1)
    assert.match(stderr, /^Cannot export: DB_URL: there is no database \/.*\/no\.db\n$/)
    assert.ok(!existsSync(join(service.directory, 'no.db')))
  })
})
