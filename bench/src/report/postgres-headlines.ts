import { CONTENDERS_TABLE } from '../contenders.ts'
import type { Results, Run } from '../results.ts'
import { cpuOf, rateOf, ratioOf, wholeCpuOf } from './figures.ts'
import { caseOf, type Line, list, some } from './headline.ts'

const SERVICE = 'service-postgres'
const NEST = 'nestjs-postgres'

/** What the service is compared with. */
const NAMES = {
  [NEST]: 'NestJS with TypeORM',
  'node-pg': 'node:http with pg, without a token check',
  'gin-gorm': 'Gin with GORM on all cores, with its default pool',
  'gin-gorm-pool': 'Gin with GORM on all cores, with a pool of ten',
} as const
type Other = keyof typeof NAMES

const BARE_AND_GIN = ['node-pg', 'gin-gorm', 'gin-gorm-pool'] as const
const ALL = [NEST, ...BARE_AND_GIN] as const

const TITLES = { get: 'GET one book', post: 'POST', put: 'PUT' } as const
type Compared = keyof typeof TITLES

const ON_POSTGRES = CONTENDERS_TABLE.filter(({ store }) => store === 'postgres')

/** The figures of the service on PostgreSQL. */
export function postgresHeadlines(results: Results): Line[] {
  const compare = (workload: Compared, one: string, other: string, figure: (run: Run) => number) => {
    const wanted = caseOf(results, workload)
    return wanted && some(ratioOf(results, one, other, wanted, figure))
  }
  const rate = (workload: Compared, other: Other, aim = ''): Line => [
    `${TITLES[workload]} on PostgreSQL, requests per second: this service ÷ ${NAMES[other]}`,
    aim,
    compare(workload, SERVICE, other, rateOf),
  ]
  return [
    rate('get', NEST, '≥ 2'),
    [
      '… CPU per request, of the service alone: NestJS with TypeORM ÷ this service',
      'or ≥ 2',
      compare('get', NEST, SERVICE, cpuOf),
    ],
    ['… with that of the database server', '', compare('get', NEST, SERVICE, wholeCpuOf)],
    ...BARE_AND_GIN.map((other) => rate('get', other)),
    ...ALL.map((other) => rate('post', other)),
    ...ALL.map((other) => rate('put', other)),
    [
      'GET one book, CPU per request with that of the database server: this service on PostgreSQL ÷ on SQLite',
      '',
      compare('get', SERVICE, 'service-sqlite', wholeCpuOf),
    ],
    [
      'List of 10,000 on PostgreSQL, books per second: this service ÷ the fastest other',
      '',
      list(results, SERVICE, ON_POSTGRES),
    ],
  ]
}
