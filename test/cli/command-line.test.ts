import assert from 'node:assert/strict'
import { type StdioOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { parseEnv } from 'node:util'
import packageJson from '../../package.json' with { type: 'json' }
import { parseDbUrl } from '../../src/store/db-url.ts'
import { openStore } from '../../src/store/open.ts'
import { MAIN, withoutStores } from '../support/command.ts'
import { ACCOUNT, INHERITED, SECRET, temporaryDirectory } from '../support/service.ts'
import { useService } from '../support/use-service.ts'
import { assertWritten, COMMANDS, followTranscript, runAll } from './transcript.ts'

/** What a command says when nobody reads its standard output. */
const UNREAD = 'The output cannot be written: write EPIPE\n'

/** More than the system takes for a command that does not read. */
const LONG = `title,author,year\n${`${'T'.repeat(1000)},A,1\n`.repeat(2000)}`

/** Where another program listens. */
const other = createServer()
await once(other.listen(0, '127.0.0.1'), 'listening')
after(() => other.close())
const USED = (other.address() as AddressInfo).port

/** Whether only the superuser may listen on low ports: in containers others often may, too. */
const FIRST_FREE = '/proc/sys/net/ipv4/ip_unprivileged_port_start'
const hasReservedPorts = existsSync(FIRST_FREE) && Number(readFileSync(FIRST_FREE, 'utf8')) > 1

describe('the command line', () => {
  const directory = temporaryDirectory()
  after(directory.remove)

  it('lists every command', async () => {
    for (const { stdout } of await runAll(directory.path, ['--help', '-h', 'help']))
      for (const name of COMMANDS) assert.match(stdout, new RegExp(`^  ${name} `, 'm'))
  })

  it('tells how each command is used, and refuses what it does not know', async () => {
    const lines = COMMANDS.flatMap((name) =>
      ['--help', '-h', '--unknown', 'a b c'].map((args) => `${name} ${args}`),
    )
    for (const [i, ended] of (await runAll(directory.path, lines)).entries()) {
      const [name] = lines[i]?.split(' ') ?? []
      const usage = `Usage: book-catalogue ${name}…\n\n…`
      assertWritten(ended, lines[i] ?? '', i % 4 < 2 ? usage : '! book-catalogue: …')
    }
  })

  before(() => writeFileSync(join(directory.path, 'faulty.env'), 'DBURL=sqlite:x\nTHREADS: 2\nPORT=x\n'))
  followTranscript(
    `
$ --version
${packageJson.version}
$ -v
${packageJson.version}
$ unknown
! book-catalogue: there is no command "unknown"
$ toString
! book-catalogue: there is no command "toString"
$ serve --port=1
! book-catalogue: Unknown option '--port'
$ token
! Cannot make a token: SECRET_TOKEN is not set…
$ token --valid-for 30
! book-catalogue: --valid-for is a whole number of minutes, hours or days, such as …
$ token --valid-for 0m
! book-catalogue: --valid-for is a whole number of minutes, hours or days, such as …
$ token --valid-for 3651d
! book-catalogue: --valid-for is …, and at most 3650d
$ check
warning: SECRET_TOKEN is not set: tokens are valid for this run only
The settings are good. …/data/books.db is made at the first start.
$ HOST=x86-conda serve
! Cannot start: HOST: x86-conda cannot be listened on: …; set HOST to an address of this machine, …
$ HOST=x86-conda check
warning: …
! Cannot start with these settings: HOST: x86-conda cannot be listened on: …
$ HOST=192.0.2.1 serve
! Cannot start: HOST: 192.0.2.1 cannot be listened on: …
$ PORT=0 DB_URL=sqlite:/proc/b/books.db serve
! Cannot start: DB_URL: …/proc/b/books.db…
$ PORT=${USED} serve
! Cannot start: PORT: ${USED} is in use; …
$ PORT=0 METRICS_PORT=${USED} serve
! Cannot start: METRICS_PORT: ${USED} is in use; …
$ DB_URL=mongodb://u:hunter2@h serve
! Cannot start: DB_URL has an unknown scheme; accepted: …
$ PORT=${USED} check
warning: …
The settings are good. …
$ HOST= check --settings faulty.env
! Cannot start with these settings: faulty.env line 1: DBURL …
!   faulty.env line 2: … THREADS
!   PORT is "x"; …
!   HOST is empty; …
$ serve --settings /tmp
! Cannot start: the file /tmp cannot be read: EISDIR…
$ --settings none.env
! Cannot start: the file none.env cannot be read: ENOENT…
$ init
.env has a new SECRET_TOKEN and a new PASSWORD. Look through it, then start the service in this directory: npm start
$ check
The settings are good. …/data/books.db is made at the first start.
$ init
! Cannot write the settings: …/.env exists already; name another file
$ init --settings other.env
other.env has a new SECRET_TOKEN and a new PASSWORD. Look through it, then start the service with --settings other.env
$ init --settings none/x.env
! Cannot write the settings: …/none/x.env cannot be written: ENOENT…
`,
    () => directory.path,
    { HOST: '127.0.0.1' },
  )

  it('check names the port that this user may not listen on', { skip: !hasReservedPorts }, async () => {
    const drop = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-net_bind_service', '--'] : ['env']
    const lines = ['PORT=0 METRICS_PORT=1 check']
    const [ended] = await runAll(directory.path, lines, { HOST: '127.0.0.1' }, drop)
    const expected = '! Cannot start with these settings: METRICS_PORT: this user may not listen on 1; …'
    assertWritten(ended, 'check', expected)
  })

  it('init has made files for their user alone, with different secrets', () => {
    const files = ['.env', 'other.env'].map((name) => {
      const path = join(directory.path, name)
      assert.equal(statSync(path).mode & 0o777, 0o600)
      const { PASSWORD = '', SECRET_TOKEN = '', ...others } = parseEnv(readFileSync(path, 'utf8'))
      assert.deepEqual(others, { DB_URL: 'sqlite:data/books.db', USERNAME: 'admin' })
      assert.ok(PASSWORD.length >= 20 && Buffer.byteLength(SECRET_TOKEN) >= 32)
      return { PASSWORD, SECRET_TOKEN }
    })
    assert.notEqual(files[0]?.PASSWORD, files[1]?.PASSWORD)
    assert.notEqual(files[0]?.SECRET_TOKEN, files[1]?.SECRET_TOKEN)
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
  const rowsBy = async (author: string) =>
    (await service.listBooks(`author=${author}`)).map(({ title, year }) => `${title} ${year}`)

  const FILES: Record<string, string | Buffer> = {
    'new.csv': 'title,author,year\nT,imported,1\nU,imported,2\n,,\n',
    'bad.csv': 'title,author,year\nT,imported,3\nT,imported,x\nT\n',
    'some.csv': 'title,author,year\nT,some,x\nT,some,3\nT\nU,some,4\n',
    'list.csv': 'Titel,"Name,Vorname",Jahr\nT,A,1999\nU,A,\n',
    'bare.csv': 'A,T,1999\nA,U,\n',
    'no-years.csv': 'Author,Title\nA,T\n',
    'two-years.csv': "Titre,Auteur,Année d'édition,Année de sortie\nT,A,1,2\n",
    'latin.csv': Buffer.from('title,author,year\nGr\xfc\xdfe,encoded,1\n', 'latin1'),
    'array.json': '[{"title":"T","author":"A","year":1}]',
    'books.xml': '',
    'more.csv': `title,author,year\n${'T,A,x\n'.repeat(102)}`,
    'from.txt': 'sqlite:books.db\n',
    'to.txt': 'sqlite:named.db',
    'two-parts.csv': 'title,author,year\n'.padEnd(128 * 1024, '\n'),
    'text.db': 'no database at all, but text of some length '.repeat(99),
  }
  before(() => {
    for (const [name, content] of Object.entries(FILES)) writeFileSync(path(name), content)
  })
  followTranscript(
    `
$ export all.csv
! wrote 5 books to all.csv
$ export all.csv
! Cannot export: all.csv exists already; name another file
$ export -
id,title,author,year
1,=1+1,"a,b",-2
2,=1+1,"a,b",-1
3,=1+1,"a,b",0
4,=1+1,"a,b",1
5,=1+1,"a,b",2
$ export - --format ndjson
{"id":1,"title":"=1+1","author":"a,b","year":-2}
…
{"id":5,"title":"=1+1","author":"a,b","year":2}
$ export x
! book-catalogue: the name of x does not end with .csv or .ndjson; …
$ export x.tsv
! book-catalogue: files with tabs are not written: name x.tsv .csv, or add --format csv
$ export - --format json
! book-catalogue: --format is csv or ndjson
$ export none/all.txt
! Cannot export: none/all.txt cannot be written: ENOENT…
$ export new.csv/all.txt
! Cannot export: new.csv/all.txt cannot be written: ENOTDIR…
$ export sheet.csv --spreadsheet
! wrote 5 books to sheet.csv
$ export x.ndjson --spreadsheet
! book-catalogue: --spreadsheet writes csv, not ndjson
$ import
! book-catalogue: import takes one argument, and got 0
$ import sheet.csv --skip-existing
added 0 books, skipped 5
$ import new.csv --dry-run
would add 2 books, skipped 0; left out 1 empty row
$ import new.csv
added 2 books, skipped 0; left out 1 empty row
$ import new.csv
added 0 books, skipped 2; left out 1 empty row
$ import new.csv --no-skip-existing --dry-run
would add 2 books, skipped 0; left out 1 empty row
$ import bad.csv
! Cannot import: bad.csv: 2 of 3 rows cannot be stored; line 3: year: "x" is not a year (a whole number such as 1979 or -500)
!   line 4: the number of fields is 1, not 3 as in the first line
$ import more.csv
! Cannot import: more.csv: 102 of 102 rows cannot be stored; line 2: year: "x" is not a year …
…
!   line 101: year: "x" is not a year (a whole number such as 1979 or -500)
!   and 2 more
$ import some.csv --skip-faulty --dry-run
would add 2 books, skipped 0; left out 2 faulty rows
! some.csv: 2 of 4 rows cannot be stored; line 2: year: "x" is not a year …
!   line 4: the number of fields is 1, not 3 as in the first line
$ import some.csv --skip-faulty
added 2 books, skipped 0; left out 2 faulty rows
! some.csv: 2 of 4 rows cannot be stored; line 2: year: "x" is not a year …
!   line 4: the number of fields is 1, not 3 as in the first line
$ import list.csv --dry-run --columns title=Titel,author="Name,Vorname",year=Jahr
would add 2 books, skipped 0; year 0 for 1 book without a year
$ import list.csv --columns title=T,title=T
! book-catalogue: --columns names the column of one or more of title, author and year, each once, as in …
$ import bare.csv --dry-run --no-header --columns title=2,author=1,year=3
would add 2 books, skipped 0; year 0 for 1 book without a year
$ import bare.csv --no-header
! Cannot import: bare.csv: … "1", "2", "3", and none …, with --columns 'title=1,author=2,year=3' or …
$ import array.json --no-header
! Cannot import: array.json: a header can be missing only for CSV
$ import no-years.csv
! Cannot import: no-years.csv: … the year; name it, …, with --columns 'year=Jahr' or --columns 'year='
$ import two-years.csv
! Cannot import: two-years.csv: … name the right one with --columns 'year="année d'\\''édition"'
$ import latin.csv --encoding Windows-1252
added 1 book, skipped 0
$ import latin.csv --encoding=
! book-catalogue: --encoding is a name that web browsers know, such as …
$ import array.json --dry-run
would add 1 book, skipped 0
$ import array.json --format csv
! Cannot import: array.json: the file seems to be JSON, not CSV; …
$ import books.xml
! book-catalogue: the name of books.xml does not end with .csv, .ndjson or .json; …
$ SLOW=1 import two-parts.csv --dry-run
would add 0 books, skipped 0; left out 131054 empty rows
! importing: 50 %, …
! importing: 100 %, …
$ import none.csv
! Cannot import: none.csv cannot be read: ENOENT…
$ check
The settings are good, and the store (sqlite) answers: 10 books.
$ INTERRUPT_AT=using check
! Cannot start with these settings: interrupted; nothing was changed
$ INTERRUPT_AT=waiting DB_URL=postgres://u:p@127.0.0.1:1/d check
! DB_URL: waiting …
! Cannot start with these settings: interrupted; nothing was changed
$ INTERRUPT_AT=using import -
! Cannot import: interrupted; nothing was stored
$ DB_URL=sqlite:none.db check
The settings are good. …/none.db is made at the first start.
$ DB_URL=sqlite:text.db check
! Cannot start with these settings: DB_URL: the database file …/text.db…
$ DB_URL=sqlite:none.db export x.csv
! Cannot export: DB_URL: there is no database /…/none.db
$ DB_URL=sqlite:none.db backup x.db
! Cannot back up: there is no database /…/none.db
$ DB_URL=mysql://u:p@h/d backup x.db
! Cannot back up: DB_URL: names a server, whose own tools make backups of it …
$ backup copy.db
/…/books.db is backed up in copy.db
$ backup -
! book-catalogue: backup cannot write to standard output: name a file
$ backup new.csv
! Cannot back up: new.csv exists already…
$ backup none/a.db
! Cannot back up: there is no directory /…
$ backup new.csv/a.db
! Cannot back up: new.csv/a.db: ENOTDIR…
$ DB_URL=mysql://u:p@h/d restore copy.db
! Cannot restore: DB_URL: names a server, whose own tools restore its backups …
$ copy --from sqlite:x.db
! book-catalogue: copy needs --from and --to
$ copy --from @none --to sqlite:c.db
! Cannot copy: --from ENOENT: …none'
$ copy --from sqlite:none.db --to sqlite:c.db
! Cannot copy: --from: there is no database /…/none.db
$ copy --from sqlite:books.db --to mongodb://user:hunter2@host/books
! Cannot copy: --to has an unknown scheme
$ copy --from @from.txt --to @to.txt
copied 10 books; both stores have the checksum …
$ copy --from @from.txt --to @to.txt
! Cannot copy: --to: there are books already; it has to be empty
$ INTERRUPT_AT=--to: copy --from sqlite:books.db --to sqlite:interrupted.db
! Cannot copy: interrupted; the books were not copied
$ SLOW=1 INTERRUPT_AT=verifying copy --from sqlite:books.db --to sqlite:verified.db
! copying: 100 %, 10 books, …
! verifying: 50 %, 10 books, …
! Cannot copy: interrupted; the books were copied, but the stores were not compared
$ DB_URL=sqlite:interrupted.db export -
id,title,author,year
`,
    () => service.directory,
    settings,
  )

  it('files and books are there after these commands, and nothing else', async () => {
    const rows = [1, 2, 3, 4, 5].map((id) => `${id},=1+1,"a,b",${id - 3}\r\n`)
    const csv = `id,title,author,year\r\n${rows.join('')}`
    assert.equal(contentOf('all.csv'), csv)
    assert.equal(contentOf('sheet.csv'), `\ufeffbook-catalogue ${csv.replaceAll('=1+1', "'=1+1")}`)
    const made = 'all.csv sheet.csv copy.db named.db interrupted.db verified.db'.split(' ')
    const names = [...Object.keys(FILES), ...made]
    const found = readdirSync(service.directory).filter((name) => !name.startsWith('books.db'))
    assert.deepEqual(found.toSorted(), names.toSorted())
    assert.deepEqual(await rowsBy('imported'), ['T 1', 'U 2'])
    assert.deepEqual(await rowsBy('some'), ['T 3', 'U 4'])
    assert.deepEqual(await rowsBy('encoded'), ['Grüße 1'])
  })

  it('commands name the stores that they use, by absolute paths', async () => {
    const DB_URL = `sqlite:${realpathSync(path('books.db'))}`
    const copying = 'copy --from sqlite:books.db --to sqlite:another.db'
    const lines = ['import new.csv', 'export -', 'check', copying]
    const all = await runAll(service.directory, lines, settings)
    for (const { stderr } of all.slice(0, 3)) assert.equal(stderr, `DB_URL: using ${DB_URL}\n`)
    const other = DB_URL.replace('books.db', 'another.db')
    assert.equal(all[3]?.stderr, `--from: using ${DB_URL}\n--to: using ${other}\n`)
    assert.ok(service.output().includes(`"username":"${ACCOUNT.username}","database":"${DB_URL}"`))
  })

  it('token prints a token that the service accepts, for as long as is asked for', async () => {
    const lifetimes = [900, 90 * 60, 87_600 * 3600, 3650 * 24 * 3600]
    const lines = ['', ' --valid-for 90m', ' --valid-for 87600h', ' --valid-for 3650d'].map(
      (each) => `token${each}`,
    )
    const earliest = Math.floor(Date.now() / 1000)
    for (const [i, { stdout }] of (await runAll(service.directory, lines, settings)).entries()) {
      const headers = { authorization: stdout.trimEnd() }
      assert.equal((await fetch(`${service.url}/books`, { headers })).status, 200)
      const { exp } = JSON.parse(Buffer.from(stdout.split('.')[1] ?? '', 'base64url').toString())
      const issued = exp - Number(lifetimes[i])
      assert.ok(earliest <= issued && issued <= Date.now() / 1000, String(lines[i]))
    }
  })

  it('a command whose output nobody reads, or that is written to a full disk, says so in one line; messages that cannot be written change nothing', async () => {
    for (const args of [['import', 'new.csv'], ['--version']]) {
      const { child, ended } = begin({}, ...args)
      child.stdout.destroy()
      assert.deepEqual(await ended, [[1, null], UNREAD], args.join(' '))
    }
    const full = openSync('/dev/full', 'w')
    const run = (stdio: StdioOptions, ...args: string[]) =>
      spawnSync(process.execPath, [MAIN, ...args], { cwd: service.directory, stdio, encoding: 'utf8' })
    const { status, stderr } = run(['ignore', full, 'pipe'], 'help')
    assert.deepEqual(
      [status, stderr],
      [1, 'The output cannot be written: ENOSPC: no space left on device, write\n'],
    )
    const { stdout } = run(['ignore', 'pipe', full], 'import', 'new.csv', '--dry-run')
    assert.match(stdout, /^would add /)
  })

  it('export ends when it is interrupted, or when nobody reads any more', async () => {
    const DB_URL = `sqlite:${path('long.db')}`
    const store = await openStore(parseDbUrl(DB_URL), { timeout: 60_000 })
    await store.import(Readable.from([Array(5000).fill({ title: 'x'.repeat(400), author: 'A', year: 1 })]))
    await store.close()
    const { child, ended } = begin({ DB_URL }, 'export', '-')
    await once(child.stdout, 'data')
    child.kill('SIGINT')
    assert.deepEqual(await ended, [[1, null], 'Cannot export: interrupted; nothing is left behind\n'])
    for (const url of ['sqlite:books.db', DB_URL]) {
      const { child, ended } = begin({ DB_URL: url }, 'export', '-')
      child.stdout.destroy()
      assert.deepEqual(await ended, [[1, null], UNREAD], url)
    }
  })

  it('commands remove the bar of their progress from the terminal before they say anything else', async () => {
    const copying = 'copy --from sqlite:books.db --to sqlite:bar.db'
    const lines = ['import new.csv --dry-run', 'import bad.csv', 'export bar.csv', copying, copying]
    const interrupted = [
      'INTERRUPT_AT=exporting DB_URL=sqlite:long.db export x.csv',
      `INTERRUPT_AT=verifying ${copying}2`,
    ]
    const terminal = { ...settings, SLOW: '1', TERMINAL: '1' }
    const all = await runAll(service.directory, [...lines, ...interrupted], terminal)
    for (const [i, { stderr }] of all.entries()) {
      const [last = '', ...bars] = stderr.split('\r\x1b[K').toReversed()
      assert.ok(bars.length > 1 && !last.includes('%'), `${i} ${stderr}`)
    }
  })

  it('import reads standard input, as CSV, and ends when it is interrupted before anything is there, or while it waits for more', async () => {
    const whole = begin({}, 'import', '-', '--dry-run')
    whole.child.stdin.end('title,author,year\nT,piped,1\n')
    assert.equal(await text(whole.child.stdout), 'would add 1 book, skipped 0\n')
    assert.deepEqual(await whole.ended, [[0, null], ''])
    for (const isReading of [false, true]) {
      const { child, ended } = begin({}, 'import', '-')
      // The store is being opened.
      await once(child.stderr, 'readable')
      if (isReading) await new Promise((resolve) => child.stdin.write(LONG, resolve))
      child.kill('SIGINT')
      assert.deepEqual(await ended, [[1, null], 'Cannot import: interrupted; nothing was stored\n'])
    }
  })

  it('commands read the settings from the file that --settings names, and then from no .env', async () => {
    const FILES = {
      'service.env': '\uFEFFDB_URL="sqlite:books.db"\nPORT=1\n',
      '.env': 'DB_URL=sqlite:named.db\nPORT=x\n',
      'wrong.env': 'DB_URL=postgres://u@h/d\nPGSSLMODE=wrong\n',
      'right.env': 'DB_URL=postgres://u@h/d\nPGSSLMODE=disable\n',
    }
    for (const [name, content] of Object.entries(FILES)) writeFileSync(path(name), content)
    const [named, first, plain, missing, ...wrong] = await runAll(service.directory, [
      'export --settings service.env -',
      'DB_URL=sqlite:copy.db export --settings service.env -',
      'PORT=1 export -',
      'check --settings missing.env',
      'check --settings wrong.env',
      'PGSSLMODE=wrong check --settings right.env',
    ])
    rmSync(path('.env'))
    assert.match(named?.stderr ?? '', /\/books\.db\n$/)
    assert.match(first?.stderr ?? '', /\/copy\.db\n$/)
    assert.match(plain?.stderr ?? '', /\/named\.db\n$/)
    for (const ended of wrong)
      assertWritten(ended, '', '! Cannot start with these settings: DB_URL has a sslmode other than…')
    assertWritten(
      missing,
      '',
      '! Cannot start with these settings: the file missing.env cannot be read: ENOENT…',
    )
  })

  for (const suffixes of [['', '-wal', '-shm'], ['']])
    it(`commands read a database that cannot be written, nor its directory: ${suffixes}`, async (t) => {
      const directory = path(`read-only-${suffixes.length}`)
      mkdirSync(directory)
      t.after(() => chmodSync(directory, 0o700))
      const file = join(directory, 'books.db')
      copyFileSync(path('copy.db'), `${file}.new`)
      using database = new DatabaseSync(`${file}.new`)
      database.exec('PRAGMA journal_mode = WAL; UPDATE books SET year = 7')
      if (suffixes.length === 1) database.exec('PRAGMA wal_checkpoint')
      for (const suffix of suffixes) {
        copyFileSync(`${file}.new${suffix}`, file + suffix)
        chmodSync(file + suffix, 0o444)
      }
      chmodSync(directory, 0o555)
      for (const name of ['earlier', 'copy']) rmSync(path(`${name}-of.db`), { force: true })
      const old = path('earlier-of.db')
      copyFileSync(join(import.meta.dirname, '../store/earlier-schemas/sqlite-1.db'), old)
      chmodSync(old, 0o444)
      const READABLE =
        '! DB_URL: this user can only read the file, and cannot run the service on it: …mode 444…'
      const said = {
        'export -': `id,title,author,year\n1,=1+1,"a,b",7\n…\n${READABLE}`,
        check: `The settings are good, and the store (sqlite) answers: 10 books.\n${READABLE}`,
        'backup copy-of.db': '/…/books.db is backed up in copy-of.db',
        'import new.csv': '! Cannot import: DB_URL: …attempt to write a readonly database; …',
        [`DB_URL=sqlite:${old} export -`]:
          '! Cannot export: DB_URL: … of an earlier version and cannot be upgraded; …mode 444…',
        [`DB_URL=sqlite:${directory}/none.db check`]:
          '! Cannot start with these settings: DB_URL: …none.db cannot be made: …mode 555, not writable: EACCES…',
      }
      // The superuser may write everywhere, unless this is taken from it.
      const drop = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override', '--'] : ['env']
      const settings = { DB_URL: `sqlite:${file}`, SECRET_TOKEN: SECRET }
      const all = await runAll(service.directory, Object.keys(said), settings, drop)
      for (const [i, [line, expected]] of Object.entries(said).entries())
        assertWritten(all[i], line.replace(/^DB_URL=\S+ /, ''), expected)
      assert.equal(statSync(path('copy-of.db')).mode & 0o777, 0o444)
    })
})
