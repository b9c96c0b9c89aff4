import { UsageError } from '../errors.ts'
import { formatOfName, type ReadFormat } from '../files/formats.ts'

export const formatOption = (formats: readonly ReadFormat[]) =>
  ({
    type: 'string',
    description: `${oneOf(formats)}; by default as the file name ends, and csv for -`,
  }) as const

/**
 * @param option the value of --format. Without it, the extension of `path` decides; `-` is CSV.
 * @throws UsageError if the result is none of the formats.
 */
export function chosenFormat<Format extends ReadFormat>(
  option: unknown,
  path: string,
  formats: readonly Format[],
): Format {
  const name = option ?? (path === '-' ? 'csv' : formatOfName(path))
  const format = formats.find((each) => each === name)
  if (format !== undefined) return format
  if (option !== undefined) throw new UsageError(`--format is ${oneOf(formats)}`)
  const endings = oneOf(formats.map((each) => `.${each}`))
  throw new UsageError(
    `the name of ${path} does not end with ${endings}; save it in one of these formats, or add --format ${oneOf(formats)}`,
  )
}

const oneOf = (names: readonly string[]) => `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
