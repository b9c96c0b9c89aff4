import { createReadStream, statSync } from 'node:fs'
import { shellQuoted } from '../../catalogue/quoted.ts'
import type { ImportOptions } from '../../catalogue/store.ts'
import type { Config } from '../../config.ts'
import { OperatorError, UsageError } from '../../errors.ts'
import {
  COLUMNS_EXAMPLE,
  type ColumnMapping,
  NUMBERS_EXAMPLE,
  parseColumns,
} from '../../files/column-names.ts'
import { encodingNamed } from '../../files/decode-text.ts'
import { READ_FORMATS } from '../../files/formats.ts'
import { ImportRefused, ImportReport } from '../../files/import-report.ts'
import { type ReadOptions, readBooks } from '../../files/read-books.ts'
import { type Command, counted, interruption, withSettings } from '../command.ts'
import { chosenFormat, formatOption } from '../format-option.ts'
import { ProgressBar } from '../progress-bar.ts'
import { withStore } from '../with-store.ts'

export const command: Command = {
  usage:
    'import FILE [--no-skip-existing] [--skip-faulty] [--dry-run] [--columns COLUMNS] [--no-header] [--encoding NAME] [--format csv|ndjson|json]',
  description: `Adds all books of a file to DB_URL, or none of them; - is standard input. The service may keep running.
A CSV file comes from the export command, Goodreads, LibraryThing, Calibre, StoryGraph or BookWyrm, or has columns with
the usual names of title, author and year in any of several languages. Ids in the file are ignored.`,
  operands: 1,
  options: {
    'skip-existing': {
      type: 'boolean',
      description:
        'skip books that exist already, with the same title, author and year; this is the default, and --no-skip-existing adds them once more',
    },
    'skip-faulty': {
      type: 'boolean',
      description: 'leave out rows that cannot be stored, and report them',
    },
    'dry-run': {
      type: 'boolean',
      description: 'report what would be added and what is wrong, without storing anything',
    },
    columns: {
      type: 'string',
      description: `where the fields are in a CSV file, as in '${COLUMNS_EXAMPLE}'`,
    },
    header: {
      type: 'boolean',
      description: `the first line of a CSV file has the names of the columns; this is the default, and with --no-header it is data, and the columns are named by their numbers, as in --columns ${NUMBERS_EXAMPLE}`,
    },
    encoding: {
      type: 'string',
      description: 'of the file, such as windows-1252; by default UTF-8 or UTF-16, as the file tells',
    },
    format: formatOption(READ_FORMATS),
  },
  run: (args) => {
    const { values, operand } = args
    const reading = {
      format: chosenFormat(values.format, operand, READ_FORMATS),
      columns: chosenColumns(values.columns),
      hasHeader: values.header !== false,
      encoding: chosenEncoding(values.encoding),
      skipFaulty: values['skip-faulty'] === true,
    }
    const options = { skipExisting: values['skip-existing'] !== false, dryRun: values['dry-run'] === true }
    return withSettings('import', args, (config) => importFile(config, operand, reading, options))
  },
}

function chosenColumns(option: unknown): ColumnMapping | undefined {
  if (typeof option !== 'string') return undefined
  const columns = parseColumns(option)
  if (columns !== undefined) return columns
  throw new UsageError(
    `--columns names the column of one or more of title, author and year, each once, as in ${COLUMNS_EXAMPLE}; ` +
      'a name with a comma is in quotation marks, and year= says that the file has no years',
  )
}

function chosenEncoding(option: unknown): string | undefined {
  try {
    return encodingNamed(typeof option === 'string' ? option : 'utf-8')
  } catch (error) {
    const names = 'windows-1252, iso-8859-2, shift_jis or utf-8'
    throw new UsageError(`--encoding is a name that web browsers know, such as ${names}`, { cause: error })
  }
}

async function importFile(
  config: Config,
  path: string,
  reading: ReadOptions,
  options: ImportOptions,
): Promise<void> {
  const signal = interruption(() => 'nothing was stored')
  const progress = new ProgressBar('importing', 'rows')
  const report = new ImportReport()
  const bytes = bytesOf(path, signal, (read, size) => progress.update(report.rows, size, read))
  const books = readBooks(bytes, reading, report)
  try {
    const { added, skipped } = await withStore('DB_URL', { ...config, signal }, (store) =>
      store.import(books, { ...options, signal }),
    ).finally(() => progress.end())
    const unknown =
      report.withoutYear === 0 ? '' : `; year 0 for ${counted(report.withoutYear, 'book')} without a year`
    const leftOut = report.faulty === 0 ? '' : `; left out ${counted(report.faulty, 'faulty row')}`
    const empty = report.empty === 0 ? '' : `; left out ${counted(report.empty, 'empty row')}`
    if (report.faulty > 0) process.stderr.write(`${path}: ${report.summary}${otherFaults(report)}\n`)
    process.stdout.write(
      `${options.dryRun ? 'would add' : 'added'} ${counted(added, 'book')}, skipped ${skipped}${unknown}${leftOut}${empty}\n`,
    )
  } catch (error) {
    if (!(error instanceof ImportRefused)) throw error
    const message = error.worded((columns) => `--columns ${shellQuoted(columns)}`)
    throw new OperatorError(`${path}: ${message}${otherFaults(report)}`, { cause: error })
  }
}

/** One line for each fault after the first, which the summary contains. */
function otherFaults({ faults, faulty }: ImportReport): string {
  const lines = faults
    .slice(1)
    .map(({ line, field, reason }) => `\n  line ${line}:${field ? ` ${field}:` : ''} ${reason}`)
  return lines.join('') + (faulty > faults.length ? `\n  and ${faulty - faults.length} more` : '')
}

/** @throws OperatorError if the file cannot be read or the signal is aborted. */
async function* bytesOf(
  path: string,
  signal: AbortSignal,
  onProgress: (read: number, size: number | undefined) => void,
): AsyncGenerator<Uint8Array, void> {
  let read = 0
  try {
    // An abort before the listener is added, such as while the store is being opened, fires no event.
    signal.throwIfAborted()
    const size = path === '-' ? undefined : statSync(path).size
    const stream = path === '-' ? process.stdin : createReadStream(path)
    signal.addEventListener('abort', () => stream.destroy(signal.reason as Error))
    for await (const chunk of stream) {
      read += (chunk as Uint8Array).length
      onProgress(read, size)
      yield chunk as Uint8Array
      signal.throwIfAborted()
    }
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error
    throw new OperatorError(`${path} cannot be read: ${error.message}`, { cause: error })
  }
}
