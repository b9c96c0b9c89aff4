import assert from 'node:assert/strict'
import type { NewBook } from '../../src/catalogue/book.ts'
import type { ReadFormat } from '../../src/files/formats.ts'
import { ImportRefused, ImportReport } from '../../src/files/import-report.ts'
import { type ReadOptions, readBooks } from '../../src/files/read-books.ts'

export const NO_YEAR = 'is not a year (a whole number such as 1979 or -500)'

/** A short file arrives in parts of so many bytes, one reading after another. It has fewer bytes than SHORT. */
const LENGTHS = [1, 2, 3, 5, 7]
const SHORT = 1000

interface Options extends Omit<ReadOptions, 'format'> {
  /** CSV by default. */
  readonly format?: ReadFormat
  /** The bytes of each part. By default, a short file is read in parts of several lengths, with the same result. */
  readonly length?: number
}

interface Outcome {
  readonly books: NewBook[]
  readonly report: ImportReport
  readonly error: string | undefined
}

export async function readFile(content: string | Uint8Array, options: Options = {}): Promise<Outcome> {
  const bytes = Buffer.from(content)
  const outcome = await readInParts(bytes, options.length ?? 64 * 1024, options)
  if (options.length === undefined && bytes.length < SHORT) {
    for (const length of LENGTHS)
      assert.deepEqual(lasting(await readInParts(bytes, length, options)), lasting(outcome))
  }
  return outcome
}

/** What does not depend on the parts. More or fewer rows may have been read before what is refused. */
function lasting({ books, report, error }: Outcome) {
  const { faults, preview, columns, encoding } = report
  return error === undefined ? { books, report } : { error, faults, preview, columns, encoding }
}

/** @returns the report. */
export async function assertRead(
  content: string | Uint8Array,
  expected: readonly NewBook[],
  options?: Options,
): Promise<ImportReport> {
  const { books, error, report } = await readFile(content, options)
  assert.deepEqual([error, books], [undefined, expected])
  return report
}

/** @param reason the whole message, or what it has. */
export async function assertRefused(
  content: string | Uint8Array,
  reason: string | RegExp,
  options?: Options,
): Promise<ImportReport> {
  const { error = 'no error', report } = await readFile(content, options)
  if (typeof reason === 'string') assert.equal(error, reason)
  else assert.match(error, reason)
  return report
}

async function readInParts(
  bytes: Buffer,
  length: number,
  { length: _, format = 'csv', ...options }: Options,
): Promise<Outcome> {
  const report = new ImportReport()
  const books: NewBook[] = []
  try {
    for await (const group of readBooks(parts(bytes, length), { format, ...options }, report))
      books.push(...group)
    return { books, report, error: undefined }
  } catch (error) {
    if (!(error instanceof ImportRefused)) throw error
    return { books, report, error: error.worded((value) => `columns=${value}`) }
  }
}

async function* parts(bytes: Buffer, length: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += length) yield bytes.subarray(start, start + length)
}
