import { randomBytes } from 'node:crypto'
import { isIP } from 'node:net'
import { LOGIN_BODY_LIMIT } from './auth/login-throttle.ts'
import { ConfigError } from './errors.ts'
import { readSettingFile } from './setting-file.ts'
import { probableSetting, type SettingName } from './settings.ts'
import { ACCEPTED_DB_URLS, type DbUrl, parseDbUrl, readDbUrlFile } from './store/db-url.ts'
import { DEFAULT_TIMEOUT } from './store/timeout.ts'

/** Trusted proxies: none, the nearest one, this many in a row, or these addresses and networks. */
export type TrustProxy = boolean | number | string[]

/** The validated settings, which can be posted to a thread. `docs/configuration.md` describes each of them. */
export interface Config {
  readonly dbUrl: DbUrl
  /** The maximum number of connections to a database server. */
  readonly dbConnections: number
  /** In milliseconds. */
  readonly dbConnectionMaxAge: number
  /** The time limit of an operation on a database server, in milliseconds. */
  readonly storeTimeout: number
  /** Signs the tokens. Never empty. */
  readonly secretToken: string
  readonly username: string
  readonly password: string
  /** 0 lets the system choose a free port. */
  readonly port: number
  /** Undefined means every address, IPv6 and IPv4. */
  readonly host: string | undefined
  /** The number of threads that answer requests. */
  readonly threads: number
  readonly logLevel: LogLevel
  /** Failed logins of one address within 15 minutes, after which it has to wait; 0 means no limit. */
  readonly loginFailureLimit: number
  readonly trustProxy: TrustProxy
  /** Origins whose pages may call the service; `*` means every origin. */
  readonly corsOrigins: readonly string[]
  /** The maximum size of an imported file, in bytes. */
  readonly importLimit: number
  /** Undefined means no metrics. */
  readonly metricsPort: number | undefined
  /** Absent settings that got a random value for this run. */
  readonly generated: ReadonlySet<Secret>
  /** One line each: about accepted settings, and about names that are probably misspelt settings. */
  readonly warnings: readonly string[]
}

export const DEFAULT_DB_URL = 'sqlite:data/books.db'

const MIB = 1024 * 1024

/** In milliseconds. */
const MINUTE = 60_000

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Settings that get a random value if they are absent. */
const SECRETS = ['SECRET_TOKEN', 'PASSWORD'] as const
type Secret = (typeof SECRETS)[number]

/** Names that Fastify accepts in place of addresses. */
const NETWORKS = ['loopback', 'linklocal', 'uniquelocal']

/** RFC 7518 §3.2: an HS256 key is at least as long as the hash. */
const RECOMMENDED_SECRET_BYTES = 32

/**
 * Reads all settings from environment variables.
 * @throws ConfigError that lists every fault at once.
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const faults: string[] = []
  const warnings: string[] = []
  const generated = new Set<Secret>()

  function read<Value>(
    name: SettingName,
    accepted: string,
    fallback: () => Value,
    parse: (text: string) => Value,
  ): Value {
    const given = environment[name]
    if (given === undefined) return fallback()
    // As in files, because `kubectl create secret --from-file` includes the line end.
    const text = given.replace(/\r?\n$/, '')
    if (text !== given) warnings.push(`${name} ends with a line break, which is left out`)
    try {
      if (text === '') throw new Error('is empty')
      return parse(text)
    } catch (error) {
      faults.push(`${name} ${(error as Error).message}; accepted: ${accepted}`)
      return fallback()
    }
  }

  /** @param range such as "of minutes from 1 to 60"; its numbers are the bounds. @param unit the factor of the value. */
  function readNumber<Fallback>(
    name: SettingName,
    range: string,
    fallback: Fallback,
    unit = 1,
  ): number | Fallback {
    const [, minimum, maximum] = range.split(/\D+/)
    const parse = (text: string): number | Fallback => {
      const number = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN
      if (!(number >= Number(minimum) && number <= Number(maximum))) throw wrong(text)
      return number * unit
    }
    return read(name, `a whole number ${range}`, () => fallback, parse)
  }

  /** @param bytes the length of the random value of an absent setting. */
  function readSecret(name: Secret, accepted: string, bytes: number): string {
    const generate = () => {
      generated.add(name)
      return randomBytes(bytes).toString('base64url')
    }
    const readPlain = () => read(name, accepted, generate, String)
    return read(`${name}_FILE`, 'the path of a file that holds any text', readPlain, readSettingFile)
  }

  const config: Config = {
    dbUrl: read(
      'DB_URL_FILE',
      `the path of a file that holds one of: ${ACCEPTED_DB_URLS}`,
      () => read('DB_URL', ACCEPTED_DB_URLS, () => parseDbUrl(DEFAULT_DB_URL), parseDbUrl),
      readDbUrlFile,
    ),
    dbConnections: readNumber('DB_CONNECTIONS', 'from 1 to 1000', 10),
    dbConnectionMaxAge: readNumber(
      'DB_CONNECTION_MAX_AGE',
      'of minutes from 1 to 10000',
      30 * MINUTE,
      MINUTE,
    ),
    storeTimeout: readNumber('STORE_TIMEOUT', 'of seconds from 1 to 60', DEFAULT_TIMEOUT, 1000),
    secretToken: readSecret(
      'SECRET_TOKEN',
      `any text, best of ${RECOMMENDED_SECRET_BYTES} bytes or more`,
      RECOMMENDED_SECRET_BYTES,
    ),
    username: read('USERNAME', 'any text', () => 'admin', String),
    password: readSecret('PASSWORD', 'any text', 15),
    port: readNumber('PORT', 'from 0 to 65535', 8080),
    host: read('HOST', 'an address or a name of this machine', () => undefined, String),
    // Each thread takes memory, and more threads than processors make nothing faster.
    threads: readNumber('THREADS', 'from 1 to 64', 1),
    logLevel: read('LOG_LEVEL', LOG_LEVELS.join(', '), () => 'info', parseLogLevel),
    loginFailureLimit: readNumber('LOGIN_FAILURE_LIMIT', 'from 0 (no limit) to 10000', 100),
    trustProxy: read(
      'TRUST_PROXY',
      'true, false, the number of proxies, or their addresses, such as 10.0.0.0/8,::1, but not all (/0)',
      () => false,
      parseTrustProxy,
    ),
    corsOrigins: read(
      'CORS_ORIGIN',
      'origins such as https://books.example,http://localhost:3000, or *',
      () => [],
      parseOrigins,
    ),
    importLimit: readNumber('IMPORT_LIMIT', 'of MiB from 1 to 100000', 256 * MIB, MIB),
    metricsPort: readNumber('METRICS_PORT', 'from 0 to 65535', undefined),
    generated,
    warnings,
  }
  for (const name of ['DB_URL', ...SECRETS]) {
    if (environment[name] !== undefined && environment[`${name}_FILE`] !== undefined)
      faults.push(`${name}_FILE and ${name} are both set; accepted: one of them`)
  }
  const { username, password } = config
  if (Buffer.byteLength(JSON.stringify({ username, password })) > LOGIN_BODY_LIMIT) {
    faults.push(
      `USERNAME and PASSWORD are too long; accepted: what fits into a login of ${LOGIN_BODY_LIMIT} bytes`,
    )
  }
  if (config.metricsPort !== undefined && config.metricsPort !== 0 && config.metricsPort === config.port) {
    faults.push('METRICS_PORT is the same as PORT; accepted: another port')
  }
  if (config.dbUrl.engine !== 'sqlite' && config.threads > config.dbConnections) {
    faults.push('THREADS is larger than DB_CONNECTIONS; accepted: at most as many, because each needs one')
  }
  if (faults.length > 0) throw new ConfigError(faults)
  for (const name of Object.keys(environment)) {
    const meant = probableSetting(name)
    if (meant !== undefined) warnings.push(`${name} is not a setting; perhaps ${meant} is meant`)
  }
  if (generated.has('SECRET_TOKEN')) {
    warnings.push('SECRET_TOKEN is not set: tokens are valid for this run only')
  } else if (Buffer.byteLength(config.secretToken) < RECOMMENDED_SECRET_BYTES) {
    warnings.push(
      `SECRET_TOKEN is shorter than ${RECOMMENDED_SECRET_BYTES} bytes, which makes it easier to guess (RFC 7518 §3.2)`,
    )
  }
  return config
}

/** @returns the share of one thread in a limit for all threads that answer requests; at least 1. */
export function shareOf(limit: number, { threads }: Pick<Config, 'threads'>): number {
  return Math.max(1, Math.floor(limit / threads))
}

function parseLogLevel(text: string): LogLevel {
  const level = LOG_LEVELS.find((known) => known === text)
  if (level === undefined) throw wrong(text)
  return level
}

/** @throws Error that quotes the wrong item. */
function parseTrustProxy(text: string): TrustProxy {
  if (text === 'true' || text === 'false') return text === 'true'
  if (/^[0-9]{1,3}$/.test(text)) return Number(text)
  return items(text).map((item) => {
    const [address = '', bits, ...others] = item.split('/')
    const longest = { 4: 32, 6: 128 }[isIP(address)] ?? -1
    // With /0, every client could claim any address. @fastify/proxy-addr throws for it.
    const isNetwork = bits === undefined || (/^0*[1-9][0-9]*$/.test(bits) && Number(bits) <= longest)
    if (!NETWORKS.includes(item) && !(longest > 0 && isNetwork && others.length === 0)) throw wrong(item)
    return item
  })
}

/** @throws Error that quotes the wrong item. */
function parseOrigins(text: string): string[] {
  return items(text).map((item) => {
    const isOrigin = /^https?:/.test(item) && URL.canParse(item) && new URL(item).origin === item
    if (item !== '*' && !isOrigin) throw wrong(item)
    return item
  })
}

function items(text: string): string[] {
  return text.split(',').map((item) => item.trim())
}

function wrong(text: string): Error {
  return new Error(`is ${JSON.stringify(text)}`)
}
