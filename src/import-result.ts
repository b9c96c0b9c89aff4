import Type from 'typebox'
import { MAX_FAULTS } from './transfer/import-report.ts'

const Count = (description: string) => Type.Integer({ minimum: 0, description })

/** What came of a file. */
export const ImportResult = Type.Object(
  {
    source: Type.String({ description: 'The program that wrote the file, as its first line tells.' }),
    rows: Count('Rows of the file that should be books.'),
    added: Count('Books that were stored; or would be.'),
    skipped: Count('Books that were there already.'),
    without_year: Count('Books of another program’s file that tell no year; theirs is 0.'),
    faulty: Count('Rows that cannot be stored. Only a dry run answers 200 if there is any.'),
    faults: Type.Array(
      Type.Object({
        line: Count('From 1.'),
        field: Type.Union([Type.String(), Type.Null()]),
        reason: Type.String(),
      }),
      { description: `What is wrong with the first ${MAX_FAULTS} of them.` },
    ),
  },
  {
    $id: 'ImportResult',
    examples: [
      { source: 'Goodreads', rows: 2, added: 2, skipped: 0, without_year: 1, faulty: 0, faults: [] },
    ],
  },
)
export type ImportResult = Type.Static<typeof ImportResult>
