import { MAX_BOOK_SIZE } from '../catalogue/book.ts'
import { ImportRefused } from './import-report.ts'

export interface Line {
  /** From 1. */
  readonly line: number
  /** The number of a book in a JSON array, from 1. */
  readonly item?: number
  readonly text: string
}

/** In UTF-16 code units: the longest book, and the id that an export has. */
const MAX_LINE = MAX_BOOK_SIZE + 1024

/** Yields the lines of a file, also blank ones, in groups as they arrive. @throws ImportRefused for too long a line. */
export async function* lines(texts: AsyncIterable<string>): AsyncGenerator<Line[], void> {
  const splitter = new LineSplitter()
  for await (const text of texts) yield splitter.push(text)
  yield splitter.end()
}

/** Separate from the generator, whose variables would keep a long line in memory while it is suspended. */
class LineSplitter {
  #number = 1
  #rest = ''

  push(text: string): Line[] {
    const group: Line[] = []
    let start = 0
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      this.#rest += text.slice(start, end)
      this.#endLine(group)
      start = end + 1
    }
    this.#rest += text.slice(start)
    if (this.#rest.length > MAX_LINE) throw new ImportRefused(`line ${this.#number} is too long`)
    return group
  }

  end(): Line[] {
    const group: Line[] = []
    if (this.#rest !== '') this.#endLine(group)
    return group
  }

  #endLine(group: Line[]): void {
    group.push({ line: this.#number++, text: this.#rest })
    this.#rest = ''
  }
}
