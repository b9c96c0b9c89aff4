import { CONTENDERS_TABLE } from '../contenders.ts'
import type { Results, Run } from '../results.ts'
import { rateOf, ratioOf, wholeCpuOf } from './figures.ts'
import { number } from './format.ts'
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

type Compared = 'get' | 'post' | 'put' | 'delete'

/** The title of each request, and how many times the rate of the others the service should have. */
const COMPARED: Readonly<Record<Compared, readonly [title: string, aims: Partial<Record<Other, number>>]>> = {
  get: ['GET one book', { [NEST]: 5, 'node-pg': 2.5, 'gin-gorm-pool': 3 }],
  post: ['POST', { [NEST]: 5, 'node-pg': 2.2, 'gin-gorm-pool': 3 }],
  put: ['PUT', { [NEST]: 5, 'node-pg': 1.5, 'gin-gorm-pool': 3 }],
  delete: ['DELETE', { [NEST]: 5, 'node-pg': 2, 'gin-gorm-pool': 3 }],
}

const ON_POSTGRES = CONTENDERS_TABLE.filter(({ store }) => store === 'postgres')

/** The figures of the service on PostgreSQL. */
export function postgresHeadlines(results: Results): Line[] {
  const compare = (workload: Compared, one: string, other: string, figure: (run: Run) => number) => {
    const wanted = caseOf(results, workload)
    return wanted && some(ratioOf(results, one, other, wanted, figure))
  }
  const rates = (workload: Compared) => {
    const [title, aims] = COMPARED[workload]
    return (Object.keys(NAMES) as Other[]).map((other): Line => {
      const what = `${title} on PostgreSQL, requests per second: this service ÷ ${NAMES[other]}`
      const aim = aims[other]
      return [what, aim === undefined ? '' : `≥ ${aim}`, compare(workload, SERVICE, other, rateOf)]
    })
  }
  return [
    ...(Object.keys(COMPARED) as Compared[]).flatMap(rates),
    [
      'GET one book, CPU per request with that of the database server: this service on PostgreSQL ÷ on SQLite',
      '',
      compare('get', SERVICE, 'service-sqlite', wholeCpuOf),
    ],
    ...[100, 10_000].map((books): Line => {
      const what = `List of ${number(books)} on PostgreSQL, books per second: this service ÷ the fastest other`
      return [what, '≥ 1.2', list(results, SERVICE, ON_POSTGRES, books)]
    }),
  ]
}
