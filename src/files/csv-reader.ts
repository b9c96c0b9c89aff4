import { CsvParser, type CsvRow, MAX_ROW } from './csv-parser.ts'
import { decode } from './decode-text.ts'
import { ImportRefused } from './import-report.ts'

const NEWLINE = /[\r\n]/

/**
 * The rows of a file of comma- or tab-separated values, the header first, in groups as they arrive.
 * @throws ImportRefused for a row that has too many fields or is too long, as after an unclosed quote.
 */
export async function* csvRows(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<CsvRow[], void> {
  let parser: CsvParser | undefined
  let start = ''
  for await (const text of decode(bytes)) {
    if (parser === undefined) {
      // The parser needs the whole first line.
      start += text
      if (start.length > MAX_ROW) throw new ImportRefused('line 1: the row is too long')
      if (!NEWLINE.test(text)) continue
      parser = new CsvParser(start.slice(0, start.search(NEWLINE)))
      yield parser.push(start, false)
      start = ''
    } else yield parser.push(text, false)
  }
  parser ??= new CsvParser(start)
  yield parser.push(start, true)
}
