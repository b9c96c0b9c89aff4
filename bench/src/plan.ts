import type { Contender } from './contenders.ts'
import type { Options } from './options.ts'
import type { Purpose } from './results.ts'
import type { Workload } from './workloads.ts'

/** One measurement. */
export interface Cell {
  readonly workload: Workload
  readonly connections: number
}

/** What one process of a contender, on a catalogue of its own, is measured with, in this order. */
export interface SessionPlan {
  readonly contender: Contender
  readonly round: number
  readonly purpose: Purpose
  readonly books: number
  readonly cells: readonly Cell[]
}

/** Books in the catalogue for everything but lists. */
const CATALOGUE = 10_000

/** Clients that ask for lists at the same time at most; each answer to them may have a megabyte. */
const LIST_CONNECTIONS = 64

/** The comparison of sizes. Others are too slow for large catalogues, or alike. */
const GROWTH = {
  contenders: [
    ...['service-sqlite', 'service-postgres', 'service-mysql'],
    ...['fastify', 'elysia-bun', 'node-pg', 'nestjs-postgres', 'gin-gorm-pool'],
  ],
  workloads: ['get', 'put', 'delete', 'post'],
  connections: [1, 64, 1000],
} as const

/** In the order of the session: what makes the catalogue grow comes last. */
const REQUESTS = ['login', 'get', 'put', 'mix', 'delete', 'post', 'busy'] as const

/** All sessions of a bench. The contenders take turns, so that whatever the machine does meanwhile meets all alike. */
export function plan(options: Options): SessionPlan[] {
  const rounds = Array.from({ length: options.rounds }, (_, i) => i + 1)
  return rounds
    .flatMap((round) => [
      ...options.contenders.map((contender) => requests(options, contender, round)),
      ...options.lists.flatMap((books) =>
        options.contenders.map((contender) => lists(options, contender, round, books)),
      ),
      // Large catalogues take long to make, so they have one round.
      ...(round === 1 ? options.contenders : []).flatMap((contender) =>
        options.growth.map((books) => growth(options, contender, round, books)),
      ),
    ])
    .filter(({ cells }) => cells.length > 0)
}

function requests({ parts, connections }: Options, contender: Contender, round: number): SessionPlan {
  const { does } = contender
  const workloads = does === 'reads without token' ? (['get'] as const) : REQUESTS
  const cells = workloads
    .filter((workload) => parts.has(workload))
    .filter((workload) => workload !== 'login' || does !== 'everything but tokens and validation')
    .flatMap((workload) => connections.map((connections) => ({ workload, connections })))
  return { contender, round, purpose: 'requests', books: CATALOGUE, cells }
}

function lists(
  { parts, connections }: Options,
  contender: Contender,
  round: number,
  books: number,
): SessionPlan {
  const isAsked = parts.has('list') && contender.does !== 'reads without token'
  const cells = (isAsked ? connections : [])
    .filter((connections) => connections <= LIST_CONNECTIONS)
    .map((connections): Cell => ({ workload: 'list', connections }))
  return { contender, round, purpose: 'list', books, cells }
}

function growth({ parts }: Options, contender: Contender, round: number, books: number): SessionPlan {
  const isAsked = parts.has('growth') && GROWTH.contenders.some((id) => id === contender.id)
  const cells: Cell[] = [
    // First, while nobody has written.
    { workload: 'list', connections: 1 },
    ...GROWTH.workloads.flatMap((workload) =>
      GROWTH.connections.map((connections) => ({ workload, connections })),
    ),
  ]
  return { contender, round, purpose: 'growth', books, cells: isAsked ? cells : [] }
}
