import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { startedAsNpm } from '../../test/support/started-as-npm.ts'
import { GO_PACKAGES, ginGorm } from './gin-gorm.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const CONTENDERS = resolve(import.meta.dirname, '../contenders')
const require = createRequire(import.meta.url)

/** Where a contender keeps its books. `none` is told their number only. */
export type StoreKind = 'sqlite' | 'postgres' | 'mysql' | 'json' | 'none'

export interface Contender {
  /** Its name on the command line. */
  readonly id: string
  readonly title: string
  readonly store: StoreKind
  /** Whether a write that was answered survives a power cut. */
  readonly durable: boolean
  /** Whether it runs on Node.js, for comparisons among those. */
  readonly runtime: 'Node.js' | 'Bun' | 'Go'
  /** The program, its arguments, and its environment beside what all are given. */
  command(): readonly [string, ...string[]]
  readonly environment: Readonly<Record<string, string>>
  /** How much of the contract it does; `nothing` answers whatever it is asked, and keeps nothing. */
  readonly does:
    | 'everything'
    | 'everything but validation'
    | 'everything but tokens and validation'
    | 'reads without token'
    | 'nothing'
  /** The packages whose versions belong into the results, and whose absence keeps it from running. */
  readonly packages: readonly string[]
}

/** Node.js as this runs on, which is the one that the service pins. */
const node = (...args: string[]) => [process.execPath, ...args] as const
const contender = (file: string) => node(join(CONTENDERS, file))

const service = (engine: string, store: StoreKind, threads = 1): Contender => ({
  id: threads === 1 ? `service-${store}` : `service-${store}-${threads}`,
  title: threads === 1 ? `this service, ${engine}` : `this service, ${engine}, ${threads} threads`,
  store,
  durable: true,
  runtime: 'Node.js',
  command: () => node(join(ROOT, 'src/main.ts')),
  environment: { ...startedAsNpm(), THREADS: String(threads) },
  does: 'everything',
  packages: [],
})

const fastify = (options: Pick<Contender, 'id' | 'title'> & Partial<Contender>): Contender => ({
  store: 'sqlite',
  durable: true,
  runtime: 'Node.js',
  command: () => contender('fastify-better-sqlite3.ts'),
  environment: {},
  does: 'everything',
  packages: ['fastify', 'better-sqlite3', '@fastify/jwt'],
  ...options,
})

const nest = (options: Pick<Contender, 'id' | 'title' | 'store'>, driver: string): Contender => ({
  durable: true,
  runtime: 'Node.js',
  command: () => node(resolve(CONTENDERS, '../dist/nestjs-typeorm/main.js')),
  environment: {},
  does: 'everything',
  packages: ['@nestjs/core', 'typeorm', driver],
  ...options,
})

const gin = (options: Pick<Contender, 'id' | 'title'>, environment = {}): Contender => ({
  store: 'postgres',
  durable: true,
  runtime: 'Go',
  command: () => [ginGorm()],
  // The server has no TLS, which pq asks for by default.
  environment: { PGSSLMODE: 'disable', ...environment },
  does: 'everything',
  packages: Object.keys(GO_PACKAGES),
  ...options,
})

const services = [service('SQLite', 'sqlite'), service('PostgreSQL', 'postgres'), service('MariaDB', 'mysql')]

/** The service of another checkout, to see what a change costs. */
function servicesBefore(checkout: string | undefined): Contender[] {
  if (!checkout) return []
  return services.map((now) => ({
    ...now,
    id: now.id.replace('service', 'before'),
    title: `${now.title}, before`,
    command: () => node(resolve(checkout, 'src/main.ts')),
  }))
}

/** All of them, in the order of the tables. */
export const CONTENDERS_TABLE: readonly Contender[] = [
  ...services,
  service('SQLite', 'sqlite', 2),
  ...servicesBefore(process.env.SERVICE_BEFORE),
  fastify({ id: 'fastify', title: 'Fastify + better-sqlite3' }),
  fastify({
    id: 'fastify-normal',
    title: 'Fastify, synchronous=NORMAL',
    durable: false,
    environment: { SYNCHRONOUS: 'NORMAL' },
  }),
  fastify({
    id: 'fastify-no-auth',
    title: 'Fastify, no token check',
    environment: { AUTH: 'none' },
    does: 'reads without token',
  }),
  {
    id: 'express-sequelize',
    title: 'Express 5 + Sequelize, SQLite',
    store: 'sqlite',
    durable: true,
    runtime: 'Node.js',
    command: () => contender('express-sequelize.ts'),
    environment: {},
    does: 'everything',
    packages: ['express', 'sequelize', 'sqlite3'],
  },
  nest({ id: 'nestjs-sqlite', title: 'NestJS + TypeORM, SQLite', store: 'sqlite' }, 'better-sqlite3'),
  nest({ id: 'nestjs-postgres', title: 'NestJS + TypeORM, PostgreSQL', store: 'postgres' }, 'pg'),
  {
    id: 'node-pg',
    title: 'node:http + pg, no token check',
    store: 'postgres',
    durable: true,
    runtime: 'Node.js',
    command: () => contender('node-pg.ts'),
    environment: {},
    does: 'everything but tokens and validation',
    packages: ['pg'],
  },
  gin({ id: 'gin-gorm', title: 'Gin + GORM, PostgreSQL, on Go, all cores' }),
  gin({ id: 'gin-gorm-pool', title: 'Gin + GORM, pool of ten, on Go, all cores' }, { POOL: '10' }),
  {
    id: 'json-server',
    title: 'json-server',
    store: 'json',
    durable: false,
    runtime: 'Node.js',
    command: () => contender('json-server.ts'),
    environment: {},
    does: 'everything but validation',
    packages: ['json-server'],
  },
  {
    id: 'elysia-bun',
    title: 'Elysia + bun:sqlite, on Bun',
    store: 'sqlite',
    durable: true,
    runtime: 'Bun',
    command: () => [bun(), join(CONTENDERS, 'elysia-bun.ts')],
    environment: {},
    does: 'everything',
    packages: ['elysia', 'bun'],
  },
  {
    id: 'floor',
    title: 'node:http, fixed bytes',
    store: 'none',
    durable: false,
    runtime: 'Node.js',
    command: () => contender('floor.ts'),
    environment: {},
    does: 'nothing',
    packages: [],
  },
]

/** Bun's program itself: the command that npm links is one only after a script of its package has run. */
function bun(): string {
  const arch = process.arch === 'arm64' ? 'aarch64' : process.arch
  return join(dirname(require.resolve(`@oven/bun-${process.platform}-${arch}/package.json`)), 'bin/bun')
}

/** The contender whose figures the others' are compared with: this service, on the same engine. */
export function baselineOf({ store }: Contender): string {
  return store === 'postgres' || store === 'mysql' ? `service-${store}` : 'service-sqlite'
}
