/** The command line is invalid. The message is for the user. */
export class UsageError extends Error {}

/** The process ends for a reason that the operator can fix. The message is complete and has no secrets. */
export class OperatorError extends Error {}

/** `faults` has one line for each fault of the settings, without values that may be secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(faults.join('\n'))
    this.faults = faults
  }
}

/** @returns the message of an error on one line, with that of its cause unless it contains it already. */
export function describeError(error: unknown): string {
  // If every address of a host fails, the AggregateError of Node has no message.
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
