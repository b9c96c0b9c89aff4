import { type Command, interruption, type OperatorError, UsageError, withSettings } from '../command.ts'
import { requireDatabase, withStore } from '../command-store.ts'
import type { Config } from '../config.ts'
import { writeNewFile } from '../new-file.ts'
import { Progress } from '../progress.ts'
import type { Store } from '../store/store.ts'
import { FORMATS, type Format, formatOfName } from '../transfer/formats.ts'
import { framings } from '../transfer/write-books.ts'

/** Writes all books to a file. */
export const command: Command = {
  usage: 'export FILE [--format csv|ndjson]',
  description: `Writes all books of DB_URL to a new file, in the order of their ids; - is standard output. The service may
run meanwhile. The file appears when it is complete.`,
  operands: 1,
  options: {
    format: {
      type: 'string',
      description: 'csv or ndjson; by default the end of the name tells, or else csv',
    },
  },
  run: ({ values, operand }) => {
    const format = chosenFormat(values.format, operand)
    return withSettings('export', (config) => exportBooks(config, operand, format))
  },
}

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

async function exportBooks({ dbUrl }: Config, path: string, format: Format): Promise<void> {
  requireDatabase('DB_URL', dbUrl)
  const signal = interruption('nothing is left behind')
  const progress = new Progress('exporting', 'books')
  const books = await withStore('DB_URL', dbUrl, async (store) => {
    const written = { books: 0 }
    const total = await store.count({})
    const text = textOf(store, format, signal, (books) => {
      written.books += books
      progress.update(written.books, total === 0 ? 1 : Math.min(1, written.books / total))
    })
    await writeNewFile(path, text).finally(() => progress.end())
    return written.books
  })
  if (path !== '-') process.stderr.write(`${books} books are in ${path}\n`)
}

async function* textOf(
  store: Store,
  format: Format,
  signal: AbortSignal,
  count: (books: number) => void,
): AsyncGenerator<string, void> {
  const { head, of } = framings[format]
  if (head !== '') yield head
  for await (const page of store.list()) {
    if (signal.aborted) throw signal.reason as OperatorError
    // Between two books, and nowhere else, stands this.
    count(page.split('},{"id":').length)
    yield of(page)
  }
}
