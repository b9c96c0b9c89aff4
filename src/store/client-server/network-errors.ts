/** What the system says when a server is away, or does not answer, and may be back later. */
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
  // The socket of a server on this machine that has not started.
  'ENOENT',
])

/** Whether a server could not be reached for a reason that may pass. */
export function isAway(error: unknown): boolean {
  // Node tries every address of a name, and tells of each.
  if (error instanceof AggregateError) return error.errors.some(isAway)
  return AWAY.has(codeOf(error) ?? '')
}

/** The `code` of a driver or of the system. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

/** What went wrong, in one line. */
export function describeError(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return describeError(error.errors[0])
  const text = error instanceof Error ? error.message || error.name : String(error)
  return text.replace(/\s*\n\s*/g, ' ')
}

/** Whether it is a defect of the program rather than anything that a server or the network did. */
export function isDefect(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError
}
