import { FORMATS, type Format, formatOfName } from '../files/formats.ts'
import { UsageError } from './command.ts'

/** `--format`, for the options of a command. */
export const formatOption = {
  type: 'string',
  description: 'csv or ndjson; by default the end of the name tells, and csv for -',
} as const

/**
 * @param option as it was given.
 * @throws UsageError if it is no format, or there is none and the name of the file tells none.
 */
export function chosenFormat(option: unknown, path: string): Format {
  if (option === undefined) {
    const format = path === '-' ? 'csv' : formatOfName(path)
    if (format === undefined) {
      throw new UsageError(
        `the name of ${path} does not end with .csv or .ndjson; add --format csv or ndjson`,
      )
    }
    return format
  }
  const format = FORMATS.find((each) => each === option)
  if (format === undefined) throw new UsageError(`--format is ${FORMATS.join(' or ')}`)
  return format
}
