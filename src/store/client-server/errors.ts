import type { UnavailableReason } from '../../catalogue/store.ts'

/**
 * What became of work that failed. With the first four, the server has certainly done nothing.
 * - `refused`: the server rejected the work.
 * - `conflict`: other work got in its way at the same moment. It may be done again.
 * - `late`: it reached the server after its deadline.
 * - `moved`: the server starts, stops, or may not write any more. Another connection may lead to one that can do it.
 * - `lost`: the connection failed, or the server ended it. It is not known whether the work was done.
 * - `unknown`: this is not known either, and the connection may still work.
 */
export type FailureOutcome = 'refused' | 'conflict' | 'late' | 'moved' | 'lost' | 'unknown'

export interface ErrorMeaning {
  readonly outcome: FailureOutcome
  /** Why the database cannot be used now, but perhaps later. Undefined if the statement or this program is at fault. */
  readonly reason?: UnavailableReason
  /** The server may accept a connection in a moment, for example because it is starting. */
  readonly isNotReady?: boolean
  /** The account lacks a right that the statement needs. */
  readonly isDenied?: boolean
  /** The server does not know the statement: it is too old, or another product. */
  readonly isUnknownSyntax?: boolean
  /** A change of the schema failed because of another one at the same moment. It may be done again. */
  readonly isLostRace?: boolean
}

/** Whether the server has certainly done nothing. */
export const isUndone = ({ outcome }: ErrorMeaning) => outcome !== 'lost' && outcome !== 'unknown'

/**
 * Makes the `meaningOf` of an engine.
 * @param table the meanings of codes. Any other code means that the statement is at fault and was not executed.
 * @param codesOf returns the code that a server has reported, and its class; undefined for an error of the connection.
 * @param isCut whether an error that no server has reported means that the server has ended the connection.
 */
export function meanings<Code>(
  table: readonly (readonly [meaning: ErrorMeaning, codes: readonly Code[]])[],
  codesOf: (error: unknown) => readonly Code[] | undefined,
  isCut: (error: unknown) => boolean,
): (error: unknown) => ErrorMeaning {
  const byCode = new Map(table.flatMap(([meaning, codes]) => codes.map((code) => [code, meaning])))
  return function meaningOf(error): ErrorMeaning {
    const codes = codesOf(error)
    if (codes !== undefined)
      return codes.map((code) => byCode.get(code)).find((known) => known) ?? { outcome: 'refused' }
    // A defect of this program rather than of the server or the network.
    if (error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError)
      return { outcome: 'unknown' }
    const isNotReady =
      error instanceof AggregateError
        ? error.errors.some((each) => meaningOf(each).isNotReady)
        : isUnreachable(error) || isCut(error)
    return { outcome: 'lost', reason: 'connection', isNotReady }
  }
}

/** The code of the error for a server that can be reached, but cannot be used as it is now. */
export const UNSUITABLE = 'UNSUITABLE'

/** Error codes, most of them of the system, for a server that cannot be used now, but perhaps later. */
const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'EAI_AGAIN',
  // The DNS of containers may know the name of a server only some time after the server has started.
  'ENOTFOUND',
  // The Unix socket of a server that has not started.
  'ENOENT',
  // A standby may be promoted.
  UNSUITABLE,
])

/** Whether a server could not be reached for a reason that may pass. */
export function isUnreachable(error: unknown): boolean {
  // It has an error for each address of a host name, or for each host.
  if (error instanceof AggregateError) return error.errors.some(isUnreachable)
  return UNREACHABLE.has(codeOf(error) ?? '')
}

/** The `code` of an error of a driver or of the system. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
