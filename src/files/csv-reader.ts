import { CsvParser, type CsvRow, MAX_ROW, type OnHeader } from './csv-parser.ts'
import { ImportRefused } from './import-report.ts'

const NEWLINE = /[\r\n]/

/** The first one is used for files with one column. */
const DELIMITERS = [',', ';', '\t']

/** A first line in which Excel names the delimiter. */
const DECLARATION = /^"?sep=(.)"?$/i

/** The first line of JSON may be a bracket or a brace alone. */
const JSON_START = /^\s*(?:\[\s*(?:[{\]]|$)|\{\s*(?:"|$))/

/** UTF-16 code units of the first row in which delimiters are counted. Few, because each part begins to read it again. */
const MAX_HEADER = 8 * 1024

/** A quoted cell, which may have several lines. */
const QUOTED = /(?<=(?:^|[,;\t]) ?)"(?:[^"]|"")*"/g

/** The first row as far as it has arrived. Its last cell may be quoted and not closed yet. */
const FIRST_ROW = /^(?:(?<=(?:^|[,;\t]) ?)"(?:[^"]|"")*(?:"|$)|[^\r\n])*/

/**
 * Yields the rows after the header of a file with commas, semicolons or tabs, in groups as they arrive.
 * @throws ImportRefused for a row that has too many fields or is too long, as after an unclosed quote; and for JSON.
 */
export async function* csvRows(
  texts: AsyncIterable<string>,
  begin: OnHeader,
  hasHeader: boolean,
): AsyncGenerator<CsvRow[], void> {
  let parser: CsvParser | undefined
  let before = ''
  let start = ''
  for await (const text of texts) {
    if (parser === undefined) {
      // The delimiter depends on the whole first row that is not blank.
      const rest = start === '' ? text.trimStart() : text
      before += text.slice(0, text.length - rest.length)
      start += rest
      if (isUnfinished(start) && before.length <= MAX_ROW) continue
      parser = new CsvParser(delimiterIn(start), begin, hasHeader)
      yield parser.push(before + withoutDeclaration(start), false)
      before = start = ''
    } else yield parser.push(text, false)
  }
  parser ??= new CsvParser(delimiterIn(start), begin, hasHeader)
  yield parser.push(before + withoutDeclaration(start), true)
}

function delimiterIn(start: string): string {
  if (JSON_START.test(start)) {
    throw new ImportRefused(
      'the file seems to be JSON, not CSV; with one book in each line (NDJSON) it is read if its name ends with .ndjson, or its type is application/x-ndjson; an array, if these are .json and application/json',
    )
  }
  return DECLARATION.exec(firstLine(start))?.[1] ?? delimiterOf(start)
}

const isUnfinished = (start: string) =>
  start.length <= MAX_HEADER && FIRST_ROW.exec(start)?.[0].length === start.length

const firstLine = (start: string) => start.split(NEWLINE, 1)[0] ?? ''

/** @returns the most frequent delimiter outside quotes in the first row. */
function delimiterOf(start: string): string {
  const names = firstLine(start.slice(0, MAX_HEADER).replaceAll(QUOTED, ''))
  const count = (delimiter: string) => names.split(delimiter).length
  return DELIMITERS.reduce((best, each) => (count(each) > count(best) ? each : best))
}

/** Leaves an empty line in its place, so that line numbers are those of the file. */
function withoutDeclaration(start: string): string {
  const line = firstLine(start)
  return DECLARATION.test(line) ? start.slice(line.length) : start
}
