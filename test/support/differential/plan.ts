import type { Answer, EngineInUse } from './engine.ts'
import type { ListQuery } from './parameters.ts'
import type { Body, Condition, Operation, Step, Target } from './steps.ts'

/** A request to be made of every engine; books go by the number of their creation. */
type Request =
  | { readonly kind: 'create'; readonly number: number; readonly body: Body }
  | Call
  | { readonly kind: 'path'; readonly method: string; readonly path: string }
  | { readonly kind: 'list' }
  | { readonly kind: 'query'; readonly query: ListQuery }

interface Call {
  readonly kind: 'call'
  readonly method: string
  readonly target: Target
  readonly body?: Body
  readonly condition?: Condition | undefined
}

/** The requests of a step, made at once. */
export interface Plan {
  readonly requests: readonly Request[]
  /** What of their responses does not depend on their order. */
  readonly compared: 'all' | 'allInAnyOrder' | 'status'
}

/** A number that no creation has. */
const NEVER_CREATED = -1

const METHODS = { read: 'GET', head: 'HEAD', delete: 'DELETE', update: 'PUT' } as const

/**
 * @param created the creations so far in the sequence.
 * @param mayHave whether a book of any engine may have the id.
 */
export function planStep(step: Step, created: number, mayHave: (id: number) => boolean): Plan {
  const which = (target: number) => {
    const number = target % (created + 1)
    return number === created ? NEVER_CREATED : number
  }
  switch (step.kind) {
    case 'one':
      return { requests: planOperations([step.operation], created, which, mayHave), compared: 'all' }
    case 'together':
      return { requests: planOperations(step.operations, created, which, mayHave), compared: 'all' }
    case 'deleteTogether': {
      const request = { kind: 'call', method: 'DELETE', target: which(step.target) } as const
      return { requests: Array.from({ length: step.times }, () => request), compared: 'allInAnyOrder' }
    }
    case 'updateTogether': {
      const target = which(step.target)
      const requests = step.bodies.map((body) => ({ kind: 'call', method: 'PUT', target, body }) as const)
      return { requests, compared: 'status' }
    }
  }
}

/** Leaves out what names a book a second time, or an id that one engine may have given and another not. */
function planOperations(
  operations: readonly Operation[],
  created: number,
  which: (target: number) => number,
  mayHave: (id: number) => boolean,
): Request[] {
  const requests: Request[] = []
  const taken = new Set<number>()
  let number = created
  for (const operation of operations) {
    if (operation.kind === 'create') requests.push({ ...operation, number: number++ })
    else if (operation.kind === 'list' || operation.kind === 'query') requests.push(operation)
    else if (operation.kind === 'other') requests.push({ ...operation, kind: 'path' })
    else {
      const target = typeof operation.target === 'string' ? operation.target : which(operation.target)
      if (typeof target === 'string' ? mayHave(Number(target)) : taken.has(target)) continue
      if (typeof target === 'number') taken.add(target)
      const method = METHODS[operation.kind]
      const { condition } = operation
      const body = 'body' in operation && { body: operation.body }
      requests.push({ kind: 'call', method, target, condition, ...body })
    }
  }
  return requests
}

/** Reads every book singly. */
export function planReads(created: number): Plan {
  const requests = Array.from(
    { length: created },
    (_, target) => ({ kind: 'call', method: 'GET', target }) as const,
  )
  return { requests, compared: 'all' }
}

/** @returns what has to be the same on every engine. */
export async function carryOut({ requests, compared }: Plan, engine: EngineInUse): Promise<unknown[]> {
  const responses = await allOf(requests.map((request) => make(request, engine)))
  if (compared === 'status') return responses.map(({ status }) => status)
  if (compared === 'all') return responses
  return responses.toSorted((a, b) => (a.status ?? 0) - (b.status ?? 0))
}

function make(request: Request, engine: EngineInUse): Promise<Answer> {
  switch (request.kind) {
    case 'create':
      return engine.create(request.number, request.body)
    case 'call':
      return engine.call(request)
    case 'path':
      return engine.callPath(request.method, request.path)
    case 'list':
      return engine.list()
    case 'query':
      return engine.query(request.query)
  }
}

/** As Promise.all, but when one fails the others have ended too, so that they do not disturb what comes next. */
export async function allOf<Result>(promises: readonly Promise<Result>[]): Promise<Result[]> {
  const results = await Promise.allSettled(promises)
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value
  })
}
