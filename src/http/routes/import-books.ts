import { MIMEType } from 'node:util'
import type { FastifyRequest } from 'fastify'
import { EXAMPLE, FIELD_NAMES, type FieldName } from '../../catalogue/book.ts'
import { objectSchema, partialSchema, type Schema } from '../../catalogue/json-schema.ts'
import type { Imported, Store } from '../../catalogue/store.ts'
import { COLUMNS_EXAMPLE, COLUMNS_PATTERN, NUMBERS_EXAMPLE, parseColumns } from '../../files/column-names.ts'
import { encodingNamed } from '../../files/decode-text.ts'
import { FORMATS, MEDIA_TYPES, READ_FORMATS } from '../../files/formats.ts'
import {
  ColumnsRefused,
  FAULT_CODES,
  FaultyRows,
  type FoundColumns,
  ImportRefused,
  ImportReport,
  MAX_FAULTS,
  type RowFault,
} from '../../files/import-report.ts'
import type { ReadOptions } from '../../files/read-books.ts'
import { envelope, failure, success } from '../envelope.ts'
import { dropRest } from '../protocol/close.ts'
import { uploaded } from '../protocol/upload.ts'
import { orInvalid, readQueryParameters } from '../query-string.ts'
import type { Services } from '../services.ts'
import { describeEndpoint, type Endpoint } from './endpoint-schema.ts'

const ImportParameters = partialSchema<{
  dry_run: boolean
  skip_existing: boolean
  skip_faulty: boolean
  columns: string
  header: boolean
}>({
  dry_run: {
    type: 'boolean',
    description: 'Checks the file without storing anything. The response is 200 and reports the faults.',
  },
  skip_existing: {
    type: 'boolean',
    description:
      'Skips books whose title, author and year are those of a stored book. This is the default; with `false` they ' +
      'are added once more.',
  },
  skip_faulty: {
    type: 'boolean',
    description: 'Skips rows that cannot be stored. The response reports them.',
  },
  columns: {
    type: 'string',
    pattern: COLUMNS_PATTERN,
    examples: [COLUMNS_EXAMPLE],
    description:
      `The columns of a CSV file that hold the fields, such as \`${COLUMNS_EXAMPLE}\`, each field at most once. ` +
      'Put a name that contains a comma in quotation marks. `year=` means that the file has no years. Fields that are ' +
      'not listed are found by the first line of the file.',
  },
  header: {
    type: 'boolean',
    description:
      'Whether the first line of a CSV file has the names of the columns. This is the default; with `false` the first ' +
      `line is data, and the columns are named by their numbers, as in \`${NUMBERS_EXAMPLE}\`.`,
  },
})

const NULLABLE_TEXT: Schema = { anyOf: [{ type: 'string' }, { type: 'null' }] }

const count = (description: string): Schema => ({ type: 'integer', minimum: 0, description })

type ImportResult = Omit<ImportReport, 'withoutYear' | 'hasInvalidBytes' | 'summary' | 'add'> &
  Imported & { readonly without_year: number }

const ImportResult = objectSchema<ImportResult>(
  {
    source: {
      type: 'string',
      description: 'The program that wrote the file, recognized by its first line, or “another program”.',
    },
    encoding: {
      type: 'string',
      description: 'The encoding of the file, by its name in the WHATWG Encoding Standard.',
    },
    columns: objectSchema<FoundColumns>(
      Object.fromEntries(FIELD_NAMES.map((name) => [name, NULLABLE_TEXT])) as Record<FieldName, Schema>,
      {
        description:
          'For each field the name of the column that was found, or null. In JSON it is the field’s own.',
      },
    ),
    rows: count('Rows of the file, without the header.'),
    added: count('Books that were stored. For a dry run, books that would be stored.'),
    skipped: count('Books that were skipped because they are stored already.'),
    without_year: count(
      'Books of another program’s file whose year is unknown. They are stored with the year 0.',
    ),
    empty: count('Rows whose cells are all blank, which are left out and not counted in `rows`.'),
    faulty: count(
      'Rows that cannot be stored. If there are any, only a dry run and `skip_faulty` are answered with 200.',
    ),
    faults: {
      type: 'array',
      items: objectSchema<RowFault>({
        line: count('The line of the file, counted from 1.'),
        field: NULLABLE_TEXT,
        code: { type: 'string', enum: FAULT_CODES, description: 'What is wrong, for programs.' },
        reason: { type: 'string', description: 'What is wrong, for people.' },
      }),
      description: `The faults of the first ${MAX_FAULTS} faulty rows.`,
    },
    preview: {
      type: 'array',
      items: { type: 'array', items: { type: 'string' } },
      description:
        'For a dry run with a CSV file, the names or numbers of its columns, and its first rows, in which long texts are cut.',
    },
  },
  {
    $id: 'ImportResult',
    examples: [
      {
        source: 'Goodreads',
        encoding: 'utf-8',
        columns: { title: 'Title', author: 'Author', year: 'Original Publication Year' },
        rows: 2,
        added: 2,
        skipped: 0,
        without_year: 1,
        empty: 0,
        faulty: 0,
        faults: [],
        preview: [],
      },
    ],
  },
)

/** A JSON array is read too, but is only mentioned: a generated client cannot offer both kinds of body. */
const FILE = {
  type: 'string',
  format: 'binary',
  description:
    'The text is in UTF-8 or UTF-16, or in the `charset` that the media type has as a parameter. ' +
    'An array of books as `application/json` is read too.',
}
const EXAMPLE_FILES = {
  csv: `${FIELD_NAMES.join(',')}\n${FIELD_NAMES.map((name) => EXAMPLE[name]).join(',')}\n`,
  ndjson: `${JSON.stringify(EXAMPLE)}\n`,
}
const REQUEST_BODY = {
  required: true,
  content: Object.fromEntries(
    FORMATS.map((format) => [MEDIA_TYPES[format], { schema: FILE, example: EXAMPLE_FILES[format] }]),
  ),
}

/** POST /books/import. One runs at a time, because each occupies a connection or disk space while its client sends. */
export function importBooks({ books, importTurns, importLimit }: Services): Endpoint {
  return {
    schema: describeEndpoint({
      id: 'importBooks',
      summary: 'Import the books of a CSV, NDJSON or JSON file, all or none',
      description:
        'Exports of Goodreads, LibraryThing, Calibre and other programs are read as they are. Try it with `dry_run=true` first: the response says what was found, and nothing is stored.',
      query: ImportParameters,
      success: [success.booksImported, success.fileChecked],
      data: ImportResult,
      failures: [
        failure.importRefused,
        failure.invalidQueryParameter,
        failure.bodyTooLarge,
        failure.unsupportedMediaType,
      ],
      requestBody: REQUEST_BODY,
    }),
    config: { unreadable: failure.unsupportedMediaType, streamed: true },
    handler: async (request, reply) => {
      const { raw } = request
      try {
        const options = readOptions(request)
        if (Number(raw.headers['content-length']) > importLimit) throw failure.bodyTooLarge
        if (!(await importTurns.begin())) throw failure.unavailable
        const gone = new AbortController()
        reply.raw.once('close', () => gone.abort(failure.badRequest))
        const file = uploaded(raw, importLimit)
        let data: ImportResult
        try {
          data = await importFile(books.store, file, { ...options, signal: gone.signal })
        } finally {
          await importTurns.end()
        }
        // A check may end early. Its client must be able to send all of the file, however long that takes: browsers drop
        // a response that comes before, if the connection ends then.
        for await (const _rest of file);
        return envelope(options.dryRun ? success.fileChecked : success.booksImported, data)
      } catch (error) {
        if (!(error instanceof ImportRefused)) throw error
        throw failure.importRefused.because(worded(error))
      } finally {
        dropRest(raw)
      }
    },
  }
}

type Options = ReturnType<typeof readOptions>

async function importFile(
  store: Store,
  bytes: AsyncIterable<Uint8Array>,
  { reading, ...options }: Options & { readonly signal: AbortSignal },
): Promise<ImportResult> {
  const report = new ImportReport()
  // Loaded only when needed, so that the service starts fast.
  const { readBooks } = await import('../../files/read-books.ts')
  const importing = store.import(readBooks(bytes, reading, report), options)
  // A dry run reports faults instead of failing.
  const counts = await importing.catch((error: unknown) => {
    if (!options.dryRun) throw error
    if (error instanceof ColumnsRefused)
      report.add({ line: error.line, field: null, code: 'columns', reason: worded(error) })
    else if (!(error instanceof FaultyRows) || reading.skipFaulty) throw error
    return { added: 0, skipped: 0 }
  })
  const preview = options.dryRun ? report.preview : []
  const { source, encoding, columns, rows, withoutYear: without_year, empty, faulty, faults } = report
  const { added, skipped } = counts
  return { source, encoding, columns, rows, added, skipped, without_year, empty, faulty, faults, preview }
}

const worded = (error: ImportRefused) => error.worded((columns) => `?columns=${columns}`)

/** @returns undefined if the media type, or its charset, is not supported. */
function typeOf({ headers }: FastifyRequest): Pick<ReadOptions, 'format' | 'encoding'> | undefined {
  try {
    const { essence, params } = new MIMEType(headers['content-type'] ?? '')
    const format = READ_FORMATS.find((each) => MEDIA_TYPES[each] === essence)
    return format && { format, encoding: encodingNamed(params.get('charset') ?? 'utf-8') }
  } catch {
    // The type is malformed, or there is no such charset.
    return undefined
  }
}

function readOptions(request: FastifyRequest) {
  const type = typeOf(request)
  if (type === undefined) throw failure.unsupportedMediaType
  const parameters = readQueryParameters(request, ImportParameters)
  const { dry_run = false, skip_existing = true, skip_faulty = false, columns, header = true } = parameters
  return {
    dryRun: dry_run,
    skipExisting: skip_existing,
    reading: {
      ...type,
      columns:
        columns === undefined ? undefined : orInvalid(parseColumns(columns), 'columns names a field twice'),
      hasHeader: header,
      skipFaulty: skip_faulty,
    },
  }
}
