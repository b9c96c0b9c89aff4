import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { after, describe, it } from 'node:test'
import { inspect } from 'node:util'
import { StoreUnavailable } from '../../src/catalogue/store.ts'
import { type Config, readConfig, shareOf } from '../../src/config.ts'
import { ConfigError } from '../../src/errors.ts'
import { storeOptions } from '../../src/service/service.ts'
import { SETTING_NAMES, type SettingName } from '../../src/settings.ts'
import { latestTarget } from '../../src/store/db-url.ts'
import { temporaryDirectory } from '../support/service.ts'

const MIB = 1024 * 1024
const MINUTE = 60_000
/** A secret that is long enough. */
const LONG = 'x'.repeat(32)
const TEXT = ' ünïcode, "quotes" and spaces '

/** What readConfig finds wrong with the settings. No part of the error has what is secret. */
function faultsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment)
  } catch (error) {
    assert.ok(error instanceof ConfigError)
    assert.doesNotMatch(inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true }), /hunter2/)
    assert.equal(error.message, error.faults.join('\n'))
    return error.faults
  }
  assert.fail(`accepted ${inspect(environment)}`)
}

/** What a setting accepts, as messages say it; texts and their values; and texts that are refused. */
type Row = readonly [SettingName, keyof Config, RegExp, Record<string, unknown>, ...string[]]

/** Whole numbers, and what one of them is in the configuration. */
const NUMBERS = (
  [
    ['DB_CONNECTIONS', 'dbConnections', 1, 1000, 1],
    ['DB_CONNECTION_MAX_AGE', 'dbConnectionMaxAge', 1, 10_000, MINUTE],
    ['STORE_TIMEOUT', 'storeTimeout', 1, 60, 1000],
    ['PORT', 'port', 0, 65535, 1],
    ['THREADS', 'threads', 1, 64, 1],
    ['LOGIN_FAILURE_LIMIT', 'loginFailureLimit', 0, 10_000, 1],
    ['IMPORT_LIMIT', 'importLimit', 1, 100_000, MIB],
    ['METRICS_PORT', 'metricsPort', 0, 65535, 1],
  ] as const
).map(([name, key, minimum, maximum, unit]): Row => {
  const accepted = { [minimum]: minimum * unit, [maximum]: maximum * unit, '007': 7 * unit }
  const others = ['-1', '+1', '1.0', '1e2', '0x1', ' 1', '1 ', '1\n\n', 'one', '１', '9'.repeat(30), 'NaN']
  const refused = [`${minimum - 1}`, `${maximum + 1}`, ...others]
  return [name, key, new RegExp(`^a whole number .*${minimum} .*${maximum}$`), accepted, ...refused]
})

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']
const SQLITE = { engine: 'sqlite', path: '/x' }

const SETTINGS: readonly Row[] = [
  ...NUMBERS,
  ['DB_URL', 'dbUrl', /sqlite:.*postgres:.*host=.*mysql:.*mariadb:/, { 'sqlite:/x': SQLITE }],
  ['SECRET_TOKEN', 'secretToken', /any text/, { [TEXT]: TEXT }],
  ['USERNAME', 'username', /any text/, { [TEXT]: TEXT }],
  ['PASSWORD', 'password', /any text/, { [TEXT]: TEXT }],
  ['HOST', 'host', /address/, { '::1': '::1' }],
  [
    'LOG_LEVEL',
    'logLevel',
    /^fatal, error, warn, info, debug, trace, silent$/,
    Object.fromEntries(LEVELS.map((level) => [level, level])),
    ...['INFO', 'verbose', '30', 'toString', ' info'],
  ],
  [
    'TRUST_PROXY',
    'trustProxy',
    /true, false, the number of proxies, or their addresses/,
    {
      true: true,
      false: false,
      0: 0,
      999: 999,
      '127.0.0.1, ::1': ['127.0.0.1', '::1'],
      '0.0.0.0/1,::/128,1.2.3.4/32': ['0.0.0.0/1', '::/128', '1.2.3.4/32'],
      'loopback,linklocal,uniquelocal': ['loopback', 'linklocal', 'uniquelocal'],
    },
    ...'yes TRUE -1 1000 localhost * loopback/8 127.0.0.1:80 10.0.0 10.0.0.0/33 ::/129'.split(' '),
    ...'10.0.0.0/ 10.0.0.0/8/8 10.0.0.0/255.0.0.0 0.0.0.0/0 ::/0'.split(' '),
  ],
  [
    'CORS_ORIGIN',
    'corsOrigins',
    /origins such as https:.*, or \*$/,
    {
      '*': ['*'],
      'https://a.example, http://localhost:3000': ['https://a.example', 'http://localhost:3000'],
      'http://[::1]:8080': ['http://[::1]:8080'],
      'https://xn--bcher-kva.example': ['https://xn--bcher-kva.example'],
    },
    // What a browser never sends as Origin would allow nobody.
    ...'https://a.example/ https://A.example https://a.example:443 https://me@a.example https://bücher.de'.split(
      ' ',
    ),
    ...'a.example null file:/// ftp://a.example https://'.split(' '),
  ],
]

describe('a setting', () => {
  for (const [name, key, accepts, accepted, ...refused] of SETTINGS)
    it(`${name} may be what its message says, and nothing else`, () => {
      for (const [text, value] of Object.entries(accepted))
        assert.deepEqual(readConfig({ [name]: text })[key], value, text)
      for (const text of ['', ...refused]) {
        const [fault = '', ...others] = faultsOf({ [name]: text })
        const [problem, list = ''] = fault.split('; accepted: ')
        const quoted = JSON.stringify(text.replace(/\n$/, ''))
        assert.equal(problem, `${name} is ${text === '' ? 'empty' : quoted}`)
        assert.match(list, accepts)
        assert.deepEqual(others, [])
      }
    })

  it('that is a list is refused with the item that is wrong', () => {
    const lists = { TRUST_PROXY: '127.0.0.1,x\r\n', CORS_ORIGIN: 'https://a.example,,' }
    const problems = faultsOf(lists).map((fault) => fault.split(';')[0])
    assert.deepEqual(problems, ['TRUST_PROXY is "x"', 'CORS_ORIGIN is ""'])
  })

  it('has a default, which is another password and secret each time', () => {
    const { secretToken, password, warnings, ...others } = readConfig({})
    assert.deepEqual(others, {
      dbUrl: { engine: 'sqlite', path: resolve('data/books.db') },
      dbConnections: 10,
      dbConnectionMaxAge: 30 * MINUTE,
      storeTimeout: 4000,
      username: 'admin',
      port: 8080,
      host: undefined,
      threads: 1,
      logLevel: 'info',
      loginFailureLimit: 100,
      trustProxy: false,
      corsOrigins: [],
      importLimit: 256 * MIB,
      metricsPort: undefined,
      generated: new Set(['SECRET_TOKEN', 'PASSWORD']),
    })
    assert.equal(Buffer.from(secretToken, 'base64url').length, 32)
    assert.equal(Buffer.from(password, 'base64url').length, 15)
    assert.deepEqual(warnings, ['SECRET_TOKEN is not set: tokens are valid for this run only'])
    const another = readConfig({})
    assert.ok(another.secretToken !== secretToken && another.password !== password)
    assert.deepEqual(readConfig({ PASSWORD: 'p' }).generated, new Set(['SECRET_TOKEN']))
    assert.deepEqual(readConfig({ SECRET_TOKEN: 's' }).generated, new Set(['PASSWORD']))
  })

  it('may end with a line break, which is left out with a warning', () => {
    const { secretToken, password, port, warnings } = readConfig({
      SECRET_TOKEN: `${LONG}\n`,
      PASSWORD: ' p\n\r\n',
      PORT: '1\n',
    })
    assert.deepEqual([secretToken, password, port], [LONG, ' p\n', 1])
    const names = ['SECRET_TOKEN', 'PASSWORD', 'PORT']
    assert.deepEqual(
      warnings,
      names.map((name) => `${name} ends with a line break, which is left out`),
    )
  })

  it('SECRET_TOKEN is warned about if it has fewer than 32 bytes of UTF-8', () => {
    const warnings = (secret: string) => readConfig({ SECRET_TOKEN: secret }).warnings
    for (const short of ['x'.repeat(31), `${'é'.repeat(15)}x`])
      assert.deepEqual(warnings(short), [
        'SECRET_TOKEN is shorter than 32 bytes, which makes it easier to guess (RFC 7518 §3.2)',
      ])
    for (const long of [LONG, 'é'.repeat(16)]) assert.deepEqual(warnings(long), [])
  })

  it('has the name that is asked for', () => {
    const asked = new Set<string>()
    readConfig(new Proxy({}, { get: (_, name) => void asked.add(String(name)) }))
    assert.deepEqual(SETTING_NAMES.toSorted(), [...asked].toSorted())
  })
})

describe('settings together', () => {
  it('may not have the metrics on the port of the service, unless both are to be found', () => {
    const fault = 'METRICS_PORT is the same as PORT; accepted: another port'
    assert.deepEqual(faultsOf({ PORT: '9000', METRICS_PORT: '9000' }), [fault])
    assert.deepEqual(faultsOf({ METRICS_PORT: '8080' }), [fault])
    assert.equal(readConfig({ PORT: '0', METRICS_PORT: '0' }).metricsPort, 0)
  })

  it('have a connection for each thread, where connections are needed', () => {
    const settings = { THREADS: '3', DB_CONNECTIONS: '2' }
    const DB_URL = 'mysql://u:p@h/d'
    assert.match(faultsOf({ ...settings, DB_URL })[0] ?? '', /^THREADS is larger than DB_CONNECTIONS; /)
    assert.equal(readConfig({ ...settings, DB_URL, THREADS: '2' }).threads, 2)
    assert.equal(readConfig(settings).threads, 3)
  })

  it('have no account that no login could name, because its body may have 4 KiB', () => {
    const longest = 4096 - JSON.stringify({ username: 'u', password: '' }).length
    assert.equal(readConfig({ USERNAME: 'u', PASSWORD: 'x'.repeat(longest) }).password.length, longest)
    for (const account of [
      { USERNAME: 'u', PASSWORD: 'x'.repeat(longest + 1) },
      { USERNAME: '€'.repeat(1400), PASSWORD: 'p' },
    ])
      assert.match(faultsOf(account)[0] ?? '', /^USERNAME and PASSWORD are too long; accepted: /)
  })
})

it('threads have equal shares of a limit, which they never exceed together, unless each has only one', () => {
  const shares = [1, 3, 4].map((threads) => shareOf(10, { threads }))
  assert.deepEqual([...shares, shareOf(2, { threads: 4 })], [10, 3, 2, 1])
  const config = readConfig({ THREADS: '4', DB_CONNECTIONS: '10', DB_URL: 'postgres://u@h/d' })
  assert.equal(storeOptions(config).connections, 2)
})

describe('a file that holds a setting', () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  const path = join(directory.path, 'hunter2')
  const write = (content: string | Buffer) => writeFileSync(path, content)

  it('gives it the value, without a byte order mark and one line end', () => {
    for (const [content, value] of [
      ['\uFEFFp\r\n', 'p'],
      [' p=1 # "\u00fc"\n\n', ' p=1 # "\u00fc"\n'],
    ] as const) {
      write(content)
      const { secretToken, password, generated, warnings } = readConfig({
        SECRET_TOKEN_FILE: path,
        PASSWORD_FILE: path,
      })
      assert.deepEqual([secretToken, password, generated.size], [value, value, 0])
      assert.match(warnings.join(), /^SECRET_TOKEN is shorter than 32 bytes/)
    }
    write('sqlite:x.db\r\n')
    assert.deepEqual(readConfig({ DB_URL_FILE: path }).dbUrl, { engine: 'sqlite', path: resolve('x.db') })
  })

  for (const [name, accepted] of [
    ['PASSWORD', 'any text'],
    ['SECRET_TOKEN', 'any text'],
    ['DB_URL', 'one of: sqlite:'],
  ] as const)
    it(`${name}_FILE is refused if it gives no value, without its path and content`, () => {
      const file = `${name}_FILE`
      const refused = (given: string) => {
        const [fault = '', ...others] = faultsOf({ [file]: given, PORT: 'x' })
        assert.match(others.join(), /^PORT /)
        const [problem = '', list = ''] = fault.split('; accepted: ')
        assert.ok(list.startsWith(`the path of a file that holds ${accepted}`), list)
        return problem.replace(`${file} `, '')
      }
      for (const [content, problem] of [
        ['\n', 'is an empty file'],
        [Buffer.from('hunter2\xff', 'latin1'), 'is a file that is not text in UTF-8'],
        ...(name === 'DB_URL' ? ([['postgres://u:hunter2@h/d\n\n', 'has a line break']] as const) : []),
      ] as const) {
        write(content)
        assert.equal(refused(path).slice(0, problem.length), problem)
      }
      for (const [given, problem] of [
        ['', 'is empty'],
        [`${path}/x`, 'cannot be read (ENOTDIR)'],
        // It may be the value itself.
        ['postgres://u:hunter2@h/d', 'cannot be read (ENOENT)'],
        ['~/x', 'has a path that begins with ~ or $, which only a shell replaces: write the whole path'],
      ] as const)
        assert.equal(refused(given), problem)
      write('sqlite:x')
      const both = faultsOf({ [file]: path, [name]: 'sqlite:x' })
      assert.deepEqual(both, [`${file} and ${name} are both set; accepted: one of them`])
    })

  it('gives DB_URL is read again for each connection, of the same engine and database', () => {
    write('postgres://u:p@h/d')
    const { dbUrl } = readConfig({ DB_URL_FILE: relative('.', path) })
    assert.ok(dbUrl.engine === 'postgres')
    // Also when a program has changed its directory.
    assert.equal(dbUrl.file, path)
    // Threads get a copy of the configuration.
    const latest = () => latestTarget(structuredClone(dbUrl))
    write('host=a,b user=v password=q dbname=d sslmode=require\n')
    const { hosts, user, password, tls } = latest()
    assert.deepEqual([hosts.length, user, password, tls.mode], [2, 'v', 'q', 'require'])
    const other = 'names another engine or database than at the start'
    for (const [text, problem] of [
      ['mysql://u:p@h/d', other],
      // The name of a database is by default that of its user.
      ['postgres://u:p@h', other],
      ['', 'is an empty file'],
      ['hunter2', 'has no scheme'],
    ] as const) {
      write(text)
      assert.throws(latest, new StoreUnavailable(`DB_URL_FILE ${problem}`))
    }
    write('postgres://d:p@h')
    assert.equal(latest().user, 'd')
    rmSync(path)
    assert.throws(latest, { message: 'DB_URL_FILE cannot be read (ENOENT)' })
  })
})

it('a variable that is probably a misspelt setting is warned about, and none of another program', () => {
  const meant = Object.entries({
    DB_URL: 'DBURL DB_URI DB_ULR db_url',
    SECRET_TOKEN: 'SECRET_TOKN SECRETTOKEN',
    PORT: 'PROT port PORTT',
    HOST: 'HOTS HOST_',
    PASSWORD: 'PASWORD PASSWD',
  }).flatMap(([setting, names]) => names.split(' ').map((name) => [name, setting]))
  const others =
    'HOME HOSTNAME HOSTTYPE USER LOGNAME PATH PWD OLDPWD SHELL SHLVL TERM LANG TZ TMPDIR EDITOR PAGER MAIL DISPLAY ' +
    'TEST ROOT PGPORT PGPASSWORD MYSQL_HOST NODE_ENV KUBERNETES_PORT KUBERNETES_SERVICE_HOST http_proxy no_proxy'
  const names = [...meant.map(([name]) => name ?? ''), ...others.split(' ')]
  const environment = Object.fromEntries(names.map((name) => [name, 'x']))
  assert.deepEqual(
    readConfig({ ...environment, SECRET_TOKEN: LONG }).warnings,
    meant.map(([name, setting]) => `${name} is not a setting; perhaps ${setting} is meant`),
  )
})
