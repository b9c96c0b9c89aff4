import { MAX_BOOK_SIZE } from '../catalogue/book.ts'
import { decode } from './decode-text.ts'
import { ImportRefused } from './import-report.ts'

export interface Line {
  /** From 1. */
  readonly line: number
  readonly text: string
}

/** UTF-16 code units that a line may have: the longest book, and the id that is in an export. */
const MAX_LINE = MAX_BOOK_SIZE + 1024

/**
 * The lines of a file that are not blank, in the groups in which they arrive.
 * @throws ImportRefused for one that is too long.
 */
export async function* lines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Line[], void> {
  let number = 1
  let rest = ''
  for await (const text of decode(bytes)) {
    const group: Line[] = []
    let start = 0
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      const line = rest + text.slice(start, end)
      if (!isBlank(line)) group.push({ line: number, text: line })
      rest = ''
      start = end + 1
      number++
    }
    yield group
    rest += text.slice(start)
    if (rest.length > MAX_LINE) throw new ImportRefused(`line ${number}: is too long`)
  }
  if (!isBlank(rest)) yield [{ line: number, text: rest }]
}

const isBlank = (text: string) => !/[^ \t\r]/.test(text)
