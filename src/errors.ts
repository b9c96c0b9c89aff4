/** A command line that cannot be understood. The message is for the user. */
export class UsageError extends Error {}

/** A reason to end that the operator can do something about. The message is complete, and has no secrets. */
export class OperatorError extends Error {}

/** All faults of the settings. `faults` has a line for each, without values that may be secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
    this.faults = faults
  }
}

/** The message of an error in one line, with that of its cause unless it contains that already. */
export function describeError(error: unknown): string {
  // Node gives no message to the errors of all addresses of a host.
  if (error instanceof AggregateError && !error.message && error.errors.length > 0)
    return describeError(error.errors[0])
  const text = (error instanceof Error ? error.message || error.name : String(error)).replace(
    /\s*\n\s*/g,
    ' ',
  )
  if (!(error instanceof Error) || error.cause === undefined) return text
  const cause = describeError(error.cause)
  return text.includes(cause) ? text : `${text}: ${cause}`
}
