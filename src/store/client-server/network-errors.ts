/** The code of the error for a server that can be reached, but not be used as it is now. */
export const UNSUITABLE = 'UNSUITABLE'

/** Codes for a server that cannot be used now, but perhaps later; most of them are of the system. */
const AWAY = new Set([
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
  // The name service may learn of a server after it has started, as that of containers does.
  'ENOTFOUND',
  // The Unix socket of a server that has not started.
  'ENOENT',
  // A standby may be promoted.
  UNSUITABLE,
])

/** Whether a server could not be reached for a reason that may pass. */
export function isAway(error: unknown): boolean {
  // One error for every address of a host name, or for every host.
  if (error instanceof AggregateError) return error.errors.some(isAway)
  return AWAY.has(codeOf(error) ?? '')
}

/** The `code` of an error of a driver or of the system. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** Whether the error is a defect of this program rather than of the server or the network. */
export function isDefect(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError
}
