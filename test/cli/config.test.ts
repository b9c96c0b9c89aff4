import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { inspect } from 'node:util'
import { StoreUnavailable } from '../../src/catalogue/store.ts'
import { readConfig } from '../../src/config.ts'
import { ConfigError } from '../../src/errors.ts'
import { SETTING_NAMES } from '../../src/settings.ts'
import { latestTarget } from '../../src/store/db-url.ts'
import { temporaryDirectory } from '../support/service.ts'

/** What readConfig finds wrong with the settings. */
function configError(environment: Record<string, string>): ConfigError {
  try {
    readConfig(environment)
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
  assert.fail(`accepted ${inspect(environment)}`)
}

/** The names of the settings that are refused. */
const refused = (environment: Record<string, string>) =>
  configError(environment).faults.map((fault) => fault.split(' ')[0])

describe('settings that are absent', () => {
  it('have their defaults', () => {
    const { secretToken, password, warnings: _, ...others } = readConfig({})
    assert.deepEqual(others, {
      dbUrl: { engine: 'sqlite', path: 'data/books.db' },
      dbConnections: 10,
      dbConnectionMaxAge: 30 * 60_000,
      storeTimeout: 4000,
      username: 'admin',
      port: 8080,
      host: undefined,
      threads: 1,
      logLevel: 'info',
      loginFailureLimit: 100,
      trustProxy: false,
      corsOrigins: [],
      importLimit: 256 * 1024 * 1024,
      metricsPort: undefined,
      generated: new Set(['SECRET_TOKEN', 'PASSWORD']),
    })
    assert.equal(Buffer.from(secretToken, 'base64url').length, 32)
    assert.ok(password.length >= 16)
  })

  it('have another random secret and password in every run', () => {
    const configs = [readConfig({}), readConfig({}), readConfig({})]
    const random = configs.flatMap(({ secretToken, password }) => [secretToken, password])
    assert.equal(new Set(random).size, 6)
  })

  it('are noted as generated only if they are absent', () => {
    assert.deepEqual(readConfig({ PASSWORD: 'p' }).generated, new Set(['SECRET_TOKEN']))
    assert.deepEqual(readConfig({ SECRET_TOKEN: 's' }).generated, new Set(['PASSWORD']))
    assert.deepEqual(readConfig({ PASSWORD: 'p', SECRET_TOKEN: 's' }).generated, new Set())
  })
})

describe('settings that are given', () => {
  it('are taken as they are', () => {
    const text = ' ünïcode, "quotes" and spaces '
    const { warnings: _, ...config } = readConfig({
      DB_URL: 'sqlite:/tmp/x.db',
      DB_CONNECTIONS: '1000',
      DB_CONNECTION_MAX_AGE: '10000',
      STORE_TIMEOUT: '60',
      SECRET_TOKEN: text,
      USERNAME: text,
      PASSWORD: text,
      PORT: '65535',
      HOST: '::1',
      THREADS: '64',
      LOG_LEVEL: 'silent',
      LOGIN_FAILURE_LIMIT: '0',
      TRUST_PROXY: '127.0.0.1, 10.0.0.0/8',
      CORS_ORIGIN: 'https://books.example, http://localhost:3000',
      IMPORT_LIMIT: '100000',
      METRICS_PORT: '65534',
      UNKNOWN: '',
    })
    assert.deepEqual(config, {
      dbUrl: { engine: 'sqlite', path: '/tmp/x.db' },
      dbConnections: 1000,
      dbConnectionMaxAge: 10_000 * 60_000,
      storeTimeout: 60_000,
      secretToken: text,
      username: text,
      password: text,
      port: 65535,
      host: '::1',
      threads: 64,
      logLevel: 'silent',
      loginFailureLimit: 0,
      trustProxy: ['127.0.0.1', '10.0.0.0/8'],
      corsOrigins: ['https://books.example', 'http://localhost:3000'],
      importLimit: 100_000 * 1024 * 1024,
      metricsPort: 65534,
      generated: new Set(),
    })
  })

  for (const end of ['\n', '\r\n']) {
    it(`may end with a line break, which is left out with a warning: ${JSON.stringify(end)}`, () => {
      const secret = 'x'.repeat(32)
      const texts = {
        DB_URL: 'sqlite:x.db',
        SECRET_TOKEN: secret,
        USERNAME: 'u',
        PASSWORD: ' p\n',
        PORT: '1',
      }
      const environment = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, text + end]))
      const { dbUrl, secretToken, username, password, port, warnings } = readConfig(environment)
      assert.deepEqual(
        [dbUrl, secretToken, username, password, port],
        [{ engine: 'sqlite', path: 'x.db' }, secret, 'u', ' p\n', 1],
      )
      assert.deepEqual(
        warnings,
        Object.keys(texts).map((name) => `${name} ends with a line break, which is left out`),
      )
    })
  }

  it('may be port 0', () => assert.equal(readConfig({ PORT: '0' }).port, 0))

  it('may be one connection', () => assert.equal(readConfig({ DB_CONNECTIONS: '1' }).dbConnections, 1))

  it('may be one second, but not none', () => {
    assert.equal(readConfig({ STORE_TIMEOUT: '1' }).storeTimeout, 1000)
    assert.deepEqual(refused({ STORE_TIMEOUT: '0', DB_CONNECTION_MAX_AGE: '0' }), [
      'DB_CONNECTION_MAX_AGE',
      'STORE_TIMEOUT',
    ])
    assert.deepEqual(refused({ STORE_TIMEOUT: '61' }), ['STORE_TIMEOUT'])
  })

  it('may be 10,000 failed log-ins', () =>
    assert.equal(readConfig({ LOGIN_FAILURE_LIMIT: '10000' }).loginFailureLimit, 10_000))

  const noNumbers = ['-1', '+1', '80.0', '1e3', '0x50', ' 80', '80 ', '80\n\n', '８０', 'http', 'NaN']

  for (const PORT of ['65536', '100000', ...noNumbers]) {
    it(`may not be port ${JSON.stringify(PORT)}`, () => {
      assert.deepEqual(refused({ PORT }), ['PORT'])
    })
  }

  for (const [name, values] of Object.entries({
    LOGIN_FAILURE_LIMIT: ['-1', '10001', '1.5'],
    IMPORT_LIMIT: ['0', '100001'],
    TRUST_PROXY: ['yes', '10.0.0.0/99', 'proxy.example'],
    CORS_ORIGIN: ['books.example', 'https://books.example/', 'https://a.example,x'],
    METRICS_PORT: ['65536', '-1', 'no'],
  })) {
    for (const value of values) {
      it(`may not be ${name} ${value}`, () => assert.deepEqual(refused({ [name]: value }), [name]))
    }
  }

  it('may not have the metrics on the port of the service, unless both are to be found', () => {
    assert.deepEqual(configError({ PORT: '9000', METRICS_PORT: '9000' }).faults, [
      'METRICS_PORT is the same as PORT; accepted: another port',
    ])
    assert.deepEqual(refused({ METRICS_PORT: '8080' }), ['METRICS_PORT'])
    assert.equal(readConfig({ PORT: '0', METRICS_PORT: '0' }).metricsPort, 0)
    assert.equal(readConfig({ METRICS_PORT: '8081' }).metricsPort, 8081)
  })

  for (const DB_CONNECTIONS of ['0', '00', '1001', '1000000000', ...noNumbers]) {
    it(`may not be ${JSON.stringify(DB_CONNECTIONS)} connections`, () => {
      assert.deepEqual(refused({ DB_CONNECTIONS }), ['DB_CONNECTIONS'])
    })
  }

  for (const LOG_LEVEL of ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']) {
    it(`may be log level ${LOG_LEVEL}`, () => assert.equal(readConfig({ LOG_LEVEL }).logLevel, LOG_LEVEL))
  }

  for (const LOG_LEVEL of ['INFO', 'verbose', '30', 'toString', ' info']) {
    it(`may not be log level ${JSON.stringify(LOG_LEVEL)}`, () => {
      assert.deepEqual(refused({ LOG_LEVEL }), ['LOG_LEVEL'])
    })
  }

  for (const name of SETTING_NAMES) {
    it(`may not be an empty ${name}`, () => {
      const { faults } = configError({ [name]: '' })
      assert.equal(faults.length, 1)
      assert.match(faults[0] ?? '', new RegExp(`^${name} is empty; accepted: .`))
    })
  }
})

describe('faults in the settings', () => {
  const SECRET = 'hunter2-of-the-test'

  it('are an account that no login could name, because its body may have 4 KiB', () => {
    const longest = 4096 - JSON.stringify({ username: 'u', password: '' }).length
    assert.equal(readConfig({ USERNAME: 'u', PASSWORD: 'x'.repeat(longest) }).password.length, longest)
    for (const account of [
      { USERNAME: 'u', PASSWORD: 'x'.repeat(longest + 1) },
      { USERNAME: '€'.repeat(1400), PASSWORD: 'p' },
    ]) {
      assert.match(configError(account).message, /^USERNAME and PASSWORD are too long; accepted: /)
    }
  })

  it('are all told at once, each in a line with the setting and what it accepts', () => {
    const error = configError({
      DB_URL: 'mongodb:x',
      DB_CONNECTIONS: 'x\n',
      SECRET_TOKEN: '',
      USERNAME: '',
      PASSWORD: '',
      PORT: '1\n2',
      HOST: '',
      LOG_LEVEL: 'loud\r\n',
      LOGIN_FAILURE_LIMIT: 'x\n',
      TRUST_PROXY: 'x\ny',
      CORS_ORIGIN: 'x\ny',
      METRICS_PORT: 'x\n',
    })
    const accepted = {
      DB_URL: /sqlite:.*postgres:.*mysql:.*mariadb:/,
      DB_CONNECTIONS: /1 to 1000/,
      SECRET_TOKEN: /any text/,
      USERNAME: /any text/,
      PASSWORD: /any text/,
      PORT: /0 to 65535/,
      HOST: /address/,
      LOG_LEVEL: /fatal, error, warn, info, debug, trace, silent/,
      LOGIN_FAILURE_LIMIT: /0 \(no limit\) to 10000/,
      TRUST_PROXY: /true, false, the number of proxies, or their addresses/,
      CORS_ORIGIN: /https:/,
      METRICS_PORT: /0 to 65535/,
    }
    assert.equal(error.faults.length, Object.keys(accepted).length)
    for (const [i, [name, pattern]] of Object.entries(accepted).entries()) {
      const [what, accepts = '', ...more] = (error.faults[i] ?? '').split('; accepted: ')
      assert.match(what ?? '', new RegExp(`^${name} (is|has|names) `))
      assert.match(accepts, pattern)
      assert.deepEqual(more, [])
      assert.doesNotMatch(error.faults[i] ?? '', /[\r\n]/)
    }
    assert.equal(error.message, error.faults.join('\n'))
  })

  for (const DB_URL of [
    SECRET,
    `${SECRET}:x`,
    `unknown://user:${SECRET}@host/books`,
    `//user:${SECRET}@host/books`,
    `sqlite:books.db?key=${SECRET}`,
    `sqlite:${SECRET}?mode=memory`,
    `sqlite:${SECRET}\0`,
    `postgress://user:${SECRET}@host/books`,
    `postgres:/user:${SECRET}@host/books`,
    `postgres://user:a/${SECRET}@host/books`,
    `postgres://user:1/${SECRET}@host/books`,
    `postgres://user:1?${SECRET}=@host/books`,
    `postgres://user:#${SECRET}@host/books`,
    `postgres://user:%${SECRET}@host/books`,
    `postgres://user:${SECRET}@host/books?sslmode=${SECRET}`,
    `postgres://user:${SECRET}@host:${SECRET}/books`,
    `host=h password=${SECRET} ${SECRET}=x`,
    `host=h password=${SECRET} '${SECRET}`,
    `mysql//user:${SECRET}@host/books`,
    `mysql://user:${SECRET}@host`,
    `mysql://user:${SECRET}@host/books\n\n`,
    `mysql://user:1?${SECRET}=x&y=${SECRET}@host/books`,
    `mysql://user:${SECRET}@host/books?ssl={"key":"${SECRET}"}`,
  ]) {
    it(`tell no secret: DB_URL ${JSON.stringify(DB_URL)}`, () => {
      const error = configError({ DB_URL, SECRET_TOKEN: SECRET, PASSWORD: SECRET, PORT: 'x' })
      assert.deepEqual(
        error.faults.map((fault) => fault.split(' ')[0]),
        ['DB_URL', 'PORT'],
      )
      assert.doesNotMatch(inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true }), /hunter2/)
    })
  }
})

describe('DB_URL_FILE', () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  const DB_URL_FILE = join(directory.path, 'db-url')
  const SECRET = 'hunter2-of-the-test'
  const write = (text: string) => writeFileSync(DB_URL_FILE, text)
  const fault = () => {
    const error = configError({ DB_URL_FILE })
    assert.doesNotMatch(inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true }), /hunter2/)
    return error.message
  }

  for (const end of ['', '\n', '\r\n']) {
    it(`is read when the file ends with ${JSON.stringify(end)}`, () => {
      write(`sqlite:x.db${end}`)
      assert.deepEqual(readConfig({ DB_URL_FILE }).dbUrl, { engine: 'sqlite', path: 'x.db' })
      write(`mysql://u:p@h/d${end}`)
      assert.equal(readConfig({ DB_URL_FILE }).dbUrl.engine, 'mysql')
    })
  }

  for (const [text, message] of [
    ['', /^DB_URL_FILE is an empty file; accepted: .*mysql:/],
    ['\n', /^DB_URL_FILE is an empty file; /],
    [SECRET, /^DB_URL_FILE has no scheme; /],
    [`postgres://u:${SECRET}@h/d\n\n`, /^DB_URL_FILE has a line break/],
    [`postgres://u:${SECRET}@h/d?sslmode=x`, /^DB_URL_FILE has a sslmode other than/],
  ] as const) {
    it(`is refused when the file has ${JSON.stringify(text)}, without its content`, () => {
      write(text)
      assert.match(fault(), message)
    })
  }

  it('is refused without its value when the file cannot be read: it may be the URL itself', () => {
    const error = configError({ DB_URL_FILE: `postgres://u:${SECRET}@h/d` })
    assert.match(error.message, /^DB_URL_FILE cannot be read \(ENOENT\); accepted: the path of a file/)
    assert.doesNotMatch(inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true }), /hunter2/)
  })

  it('is refused when only a shell understands its path, as are the files of secrets', () => {
    const error = configError({ DB_URL_FILE: '~/url', PASSWORD_FILE: '$HOME/p', SECRET_TOKEN_FILE: '~x/s' })
    assert.equal(error.faults.length, 3)
    for (const fault of error.faults) assert.match(fault, /_FILE has a path that begins with ~ or \$/)
  })

  it('may not be set together with DB_URL', () => {
    write('sqlite:x.db')
    assert.deepEqual(configError({ DB_URL_FILE, DB_URL: 'sqlite:x.db' }).faults, [
      'DB_URL_FILE and DB_URL are both set; accepted: one of them',
    ])
  })

  it('is read again for each connection, of the same engine and database', () => {
    write('postgres://u:p@h/d')
    const { dbUrl } = readConfig({ DB_URL_FILE })
    assert.ok(dbUrl.engine === 'postgres')
    // Threads get a copy of the configuration.
    const latest = () => latestTarget(structuredClone(dbUrl))
    write('host=a,b user=v password=q dbname=d sslmode=require\n')
    const { hosts, user, password, tls } = latest()
    assert.deepEqual(
      hosts.map(({ host }) => host),
      ['a', 'b'],
    )
    assert.deepEqual([user, password, tls.mode], ['v', 'q', 'require'])
    for (const [text, message] of [
      ['postgres://u:p@h/e', 'DB_URL_FILE names another engine or database than at the start'],
      ['mysql://u:p@h/d', 'DB_URL_FILE names another engine or database than at the start'],
      ['sqlite:d', 'DB_URL_FILE names another engine or database than at the start'],
      ['', 'DB_URL_FILE is an empty file'],
      [SECRET, 'DB_URL_FILE has no scheme'],
    ] as const) {
      write(text)
      assert.throws(latest, (error) => error instanceof StoreUnavailable && error.message === message)
    }
    rmSync(DB_URL_FILE)
    assert.throws(latest, { message: 'DB_URL_FILE cannot be read (ENOENT)' })
  })

  it('names a database by its user, unless it says more', () => {
    write('postgres://u:p@h')
    const { dbUrl } = readConfig({ DB_URL_FILE })
    assert.ok(dbUrl.engine === 'postgres')
    write('postgres://v:p@h/u')
    assert.equal(latestTarget(dbUrl).user, 'v')
    write('postgres://v:p@h')
    assert.throws(() => latestTarget(dbUrl), /another engine or database/)
  })
})

for (const [name, setting] of [
  ['SECRET_TOKEN', 'secretToken'],
  ['PASSWORD', 'password'],
] as const) {
  describe(`${name}_FILE`, () => {
    const directory = temporaryDirectory()
    after(directory.remove)
    const path = join(directory.path, 'hunter2')
    const settings = { [`${name}_FILE`]: path }

    for (const [content, value] of [
      ['p', 'p'],
      ['p\n', 'p'],
      ['\uFEFFp\r\n', 'p'],
      [' p=1 # "\u00fc"\n\n', ' p=1 # "\u00fc"\n'],
    ] as const) {
      it(`is ${JSON.stringify(value)} when the file has ${JSON.stringify(content)}`, () => {
        writeFileSync(path, content)
        const config = readConfig(settings)
        assert.equal(config[setting], value)
        assert.ok(!config.generated.has(name))
      })
    }

    for (const [content, message] of [
      ['', 'is an empty file'],
      ['\n', 'is an empty file'],
      [Buffer.from('hunter2\xff', 'latin1'), 'is a file that is not text in UTF-8'],
      [undefined, 'cannot be read (ENOENT)'],
    ] as const) {
      it(`is refused without its path and content when it ${message}: ${content}`, () => {
        rmSync(path)
        if (content !== undefined) writeFileSync(path, content)
        const error = configError({ ...settings, PORT: 'x' })
        assert.equal(
          error.faults[0],
          `${name}_FILE ${message}; accepted: the path of a file that holds any text`,
        )
        assert.match(error.faults[1] ?? '', /^PORT /)
        assert.doesNotMatch(inspect(error, { depth: Number.POSITIVE_INFINITY, showHidden: true }), /hunter2/)
        if (content === undefined) writeFileSync(path, '')
      })
    }

    it(`may not be set together with ${name}, nor be empty`, () => {
      writeFileSync(path, 'p')
      assert.deepEqual(configError({ ...settings, [name]: 'p' }).faults, [
        `${name}_FILE and ${name} are both set; accepted: one of them`,
      ])
      assert.match(configError({ [`${name}_FILE`]: '' }).message, new RegExp(`^${name}_FILE is empty; `))
    })
  })
}

describe('warnings about the settings', () => {
  const about = (environment: Record<string, string>) =>
    readConfig(environment).warnings.filter((warning) => warning.startsWith('SECRET_TOKEN '))

  it('tell that a generated secret lasts for one run', () => {
    const warnings = about({})
    assert.equal(warnings.length, 1)
    assert.match(warnings[0] ?? '', /this run only/)
  })

  for (const [name, SECRET_TOKEN, warned] of [
    ['31 bytes', 'x'.repeat(31), true],
    ['32 bytes', 'x'.repeat(32), false],
    ['31 bytes in 16 characters', `${'é'.repeat(15)}x`, true],
    ['32 bytes in 16 characters', 'é'.repeat(16), false],
    ['33 bytes in 11 characters', '漢'.repeat(11), false],
    ['1 byte', 'x', true],
  ] as const) {
    it(`${warned ? 'tell' : 'do not tell'} that a secret of ${name} is short`, () => {
      const warnings = about({ SECRET_TOKEN })
      assert.equal(warnings.length, warned ? 1 : 0)
      if (warned) assert.match(warnings[0] ?? '', /shorter than 32 bytes/)
      assert.ok(!warnings.some((warning) => warning.includes(SECRET_TOKEN.repeat(2))))
    })
  }
})
