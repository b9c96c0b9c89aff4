import { MAX_BOOK_SIZE } from '../catalogue/book.ts'
import { quoted } from '../catalogue/quoted.ts'
import { ImportRefused } from './import-report.ts'
import type { Line } from './ndjson-reader.ts'

/** In UTF-16 code units: the longest book, and room for other fields and white space. */
const MAX_ITEM = 2 * MAX_BOOK_SIZE

/** The characters by which the ends of items are found. */
const TOKEN = /["\\[\]{}\n]/g

const WHITE_SPACE = /[ \t\r\n]+/g

/**
 * Yields the items of a JSON array, in groups as they arrive. The text of an item may be invalid JSON.
 * @throws ImportRefused for a text that is not an array of objects, and for an item that is too long.
 */
export async function* items(texts: AsyncIterable<string>): AsyncGenerator<Line[], void> {
  const splitter = new ArraySplitter()
  for await (const text of texts) yield splitter.push(text)
  splitter.end()
}

/** Separate from the generator, whose variables would keep a long item in memory while it is suspended. */
class ArraySplitter {
  #line = 1
  /** The number of open brackets and braces: two or more within an item. */
  #depth = 0
  #isInString = false
  /** Whether the last part ended with a backslash in a string. */
  #isEscaped = false
  #items = 0
  #begin = 1
  /** The beginning of an item, or of the text between two items. */
  #rest = ''

  push(text: string): Line[] {
    if (text === '') return []
    const group: Line[] = []
    let start = 0
    TOKEN.lastIndex = this.#isEscaped ? 1 : 0
    this.#isEscaped = false
    for (let token = TOKEN.exec(text); token !== null; token = TOKEN.exec(text)) {
      const [character] = token
      const at = token.index
      if (character === '\n') this.#line++
      else if (character === '"') this.#isInString = !this.#isInString
      else if (this.#isInString) {
        if (character !== '\\') continue
        this.#isEscaped = at + 1 === text.length
        TOKEN.lastIndex = at + 2
      } else if (character === '[' || character === '{') {
        if (++this.#depth !== 2) continue
        this.#endGap(text.slice(start, at), this.#items === 0 ? '[' : ',')
        this.#begin = this.#line
        start = at
      } else if (--this.#depth === 1) {
        group.push({
          line: this.#begin,
          item: ++this.#items,
          text: this.#rest + text.slice(start, at + 1),
        })
        this.#rest = ''
        start = at + 1
      }
    }
    this.#rest += text.slice(start)
    if (this.#rest.length > MAX_ITEM) {
      if (this.#depth < 2) {
        // It is no book, but for example a whole file with one object in each line.
        this.#line = this.#begin
        this.#endGap('', this.#items === 0 ? '[' : ',')
      }
      throw new ImportRefused(`line ${this.#begin}: the book is too long`)
    }
    return group
  }

  end(): void {
    if (this.#depth > 0) throw new ImportRefused('the JSON array is not closed; is the file complete?')
    this.#endGap('', this.#items === 0 ? '[]' : ']')
  }

  #endGap(end: string, expected: string): void {
    const text = this.#rest + end
    this.#rest = ''
    if (text.replace(WHITE_SPACE, '') === expected) return
    const gap = text.trim()
    const found = `the file has ${gap === '' ? 'nothing' : quoted(gap)} where a JSON array of objects has "${expected}"`
    const advice = gap.endsWith(':')
      ? '; the books have to be an array of their own'
      : '; with one object in each line it is read if its name ends with .ndjson, or its type is application/x-ndjson'
    throw new ImportRefused(`line ${this.#line}: ${found}${gap.startsWith('{') ? advice : ''}`)
  }
}
