import { objectSchema, type Schema } from './catalogue/json-schema.ts'
import { MAX_FAULTS, type RowFault } from './files/import-report.ts'

const count = (description: string): Schema => ({ type: 'integer', minimum: 0, description })

/** What came of a file. */
export interface ImportResult {
  readonly source: string
  readonly rows: number
  readonly added: number
  readonly skipped: number
  readonly without_year: number
  readonly faulty: number
  readonly faults: readonly RowFault[]
}
export const ImportResult = objectSchema<ImportResult>(
  {
    source: { type: 'string', description: 'The program that wrote the file, as its first line tells.' },
    rows: count('Rows of the file that should be books.'),
    added: count('Books that were stored; or would be.'),
    skipped: count('Books that were there already.'),
    without_year: count('Books of another program’s file whose year is unknown; theirs is 0.'),
    faulty: count('Rows that cannot be stored. Only a dry run answers 200 if there is any.'),
    faults: {
      type: 'array',
      items: objectSchema<RowFault>({
        line: count('From 1.'),
        field: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        reason: { type: 'string' },
      }),
      description: `What is wrong with the first ${MAX_FAULTS} of them.`,
    },
  },
  {
    $id: 'ImportResult',
    examples: [
      { source: 'Goodreads', rows: 2, added: 2, skipped: 0, without_year: 1, faulty: 0, faults: [] },
    ],
  },
)
