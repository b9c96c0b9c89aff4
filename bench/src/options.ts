import { parseArgs } from 'node:util'
import { CONTENDERS_TABLE, type Contender } from './contenders.ts'
import { WORKLOADS, type Workload } from './workloads.ts'

/** What can be left out with `--only`: the workloads, and the comparison of catalogues of several sizes. */
const PARTS = [...WORKLOADS, 'growth'] as const
type Part = (typeof PARTS)[number]

export interface Options {
  readonly rounds: number
  /** Of each measurement, and of what is sent before it. */
  readonly seconds: number
  readonly warmUp: number
  readonly connections: readonly number[]
  readonly parts: ReadonlySet<Part>
  /** Lengths of the lists. */
  readonly lists: readonly number[]
  /** Sizes of the catalogues of the part `growth`. */
  readonly growth: readonly number[]
  readonly contenders: readonly Contender[]
  /** Where RESULTS.md, results.json and the plots go. */
  readonly output: string
}

const DEFAULTS = {
  rounds: '3',
  seconds: '1.5',
  'warm-up': '0.5',
  connections: '1,64,256',
  lists: '100,10000',
  growth: '1000,100000,1000000',
  only: PARTS.join(','),
  contenders: CONTENDERS_TABLE.map(({ id }) => id).join(','),
}

/** What the ratios need that the report begins with. */
const QUICK = {
  ...DEFAULTS,
  rounds: '2',
  seconds: '0.7',
  'warm-up': '0.3',
  connections: '64',
  lists: '10000',
  only: 'get,post,put,delete,list',
  contenders:
    'service-sqlite,service-postgres,service-sqlite-2,fastify,fastify-no-auth,nestjs-postgres,node-pg,elysia-bun,floor',
}

export const USAGE = `npm run bench -- [options]

  --quick                 the ratios that the report begins with, in five minutes
  --rounds ${DEFAULTS.rounds}              how often each contender has its turn
  --seconds ${DEFAULTS.seconds}             of each measurement
  --warm-up ${DEFAULTS['warm-up']}           seconds before it
  --connections ${DEFAULTS.connections}  clients at the same time
  --lists ${DEFAULTS.lists}       books in the catalogues whose lists are read
  --growth ${DEFAULTS.growth}   books in the catalogues that are compared
  --only ${DEFAULTS.only}
  --contenders ${DEFAULTS.contenders}
  --output DIRECTORY      for RESULTS.md, results.json and plots/; by default this package
`

/** @throws Error that names what is wrong with the arguments. */
export function readOptions(args: readonly string[], output: string): Options {
  const text = { type: 'string' } as const
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean' },
      rounds: text,
      seconds: text,
      'warm-up': text,
      connections: text,
      lists: text,
      growth: text,
      only: text,
      contenders: text,
      output: text,
    },
  })
  const given = { ...(values.quick ? QUICK : DEFAULTS), ...values }
  return {
    rounds: positive('rounds', given.rounds),
    seconds: positive('seconds', given.seconds),
    warmUp: positive('warm-up', given['warm-up']),
    connections: list(given.connections).map((number) => positive('connections', number)),
    lists: list(given.lists).map((number) => positive('lists', number)),
    growth: list(given.growth).map((number) => positive('growth', number)),
    parts: new Set(list(given.only).map((name) => oneOf('only', PARTS, name))),
    contenders: chosen(list(given.contenders)),
    output: given.output ?? output,
  }
}

function list(text: string): string[] {
  return text.split(',').map((part) => part.trim())
}

function positive(name: string, text: string): number {
  const number = Number(text)
  if (!(number > 0)) throw new Error(`--${name}: ${text} is no positive number`)
  return number
}

function oneOf<Name extends string>(option: string, names: readonly Name[], text: string): Name {
  const name = names.find((known) => known === text)
  if (name === undefined) throw new Error(`--${option}: ${text} is none of ${names.join(', ')}`)
  return name
}

function chosen(ids: readonly string[]): Contender[] {
  const known = CONTENDERS_TABLE.map(({ id }) => id)
  for (const id of ids) oneOf('contenders', known, id)
  return CONTENDERS_TABLE.filter(({ id }) => ids.includes(id))
}

export function measures(options: Options, workload: Workload): boolean {
  return options.parts.has(workload)
}
