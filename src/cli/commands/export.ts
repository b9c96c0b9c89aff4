import { allPages } from '../../catalogue/page.ts'
import { ALL_BOOKS } from '../../catalogue/query.ts'
import type { Config } from '../../config.ts'
import { UsageError } from '../../errors.ts'
import { FORMATS } from '../../files/formats.ts'
import { type FileKind, framings } from '../../files/write-books.ts'
import { type Command, counted, interruption, throwIfInterrupted, withSettings } from '../command.ts'
import { chosenFormat, formatOption } from '../format-option.ts'
import { writeNewFile } from '../output-file.ts'
import { ProgressBar } from '../progress-bar.ts'
import { withStore } from '../with-store.ts'

export const command: Command = {
  usage: 'export FILE [--format csv|ndjson] [--spreadsheet]',
  description: `Writes all books of DB_URL to a new file, in the order of their ids; - is standard output. The service may
keep running. The file appears once it is complete.`,
  operands: 1,
  options: {
    format: formatOption(FORMATS),
    spreadsheet: {
      type: 'boolean',
      description:
        'write CSV for Excel and the like: with a byte order mark, and an apostrophe before each formula',
    },
  },
  run: (args) => {
    const { values, operand } = args
    // Such a file has tabs instead of commas, which are only read.
    if (values.format === undefined && /\.tsv$/i.test(operand))
      throw new UsageError(`files with tabs are not written: name ${operand} .csv, or add --format csv`)
    const format = chosenFormat(values.format, operand, FORMATS)
    const { spreadsheet } = values
    if (spreadsheet && format !== 'csv') throw new UsageError(`--spreadsheet writes csv, not ${format}`)
    const kind = spreadsheet ? 'spreadsheet' : format
    return withSettings('export', args, (config) => exportBooks(config, operand, kind))
  },
}

async function exportBooks(config: Config, path: string, kind: FileKind): Promise<void> {
  const signal = interruption(() => 'nothing is left behind')
  const progress = new ProgressBar('exporting', 'books')
  const { head, render } = framings[kind]
  let written = 0
  await withStore('DB_URL', { ...config, signal, reads: true }, async (store) => {
    const total = await store.count({})
    async function* texts(): AsyncGenerator<string, void> {
      yield head
      for await (const page of allPages(store, ALL_BOOKS)) {
        const text = render(page)
        await throwIfInterrupted(signal)
        written += page.count
        progress.update(written, total)
        yield text
      }
    }
    await writeNewFile(path, texts()).finally(() => progress.end())
  })
  if (path !== '-') process.stderr.write(`wrote ${counted(written, 'book')} to ${path}\n`)
}
