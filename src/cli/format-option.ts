import { UsageError } from '../errors.ts'
import { FORMATS, type Format, formatOfName } from '../files/formats.ts'

/** `--format`, for the options of a command. */
export const formatOption = {
  type: 'string',
  description: 'csv or ndjson; by default as the file name ends, and csv for -',
} as const

/**
 * @param option the value of --format, if there is one.
 * @throws UsageError if it is not a format, or is missing and the file name tells none.
 */
export function chosenFormat(option: unknown, path: string): Format {
  if (option === undefined) {
    const format = path === '-' ? 'csv' : formatOfName(path)
    if (format === undefined) {
      throw new UsageError(
        `the name of ${path} does not end with .csv or .ndjson; save it in one of these formats, or add --format csv or ndjson`,
      )
    }
    return format
  }
  const format = FORMATS.find((each) => each === option)
  if (format === undefined) throw new UsageError(`--format is ${FORMATS.join(' or ')}`)
  return format
}
