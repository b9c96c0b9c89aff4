import { decode } from './decode.ts'
import { ImportRefused } from './import-report.ts'

export interface Line {
  /** From 1. */
  readonly line: number
  readonly text: string
}

/** UTF-16 code units that a line may have: more than a book can, with every character escaped. */
const MAX_LINE = 8 * 1024 * 1024

/**
 * The lines of a file that are not blank, in the groups in which they arrive.
 * @throws ImportRefused for one that is too long.
 */
export async function* lines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Line[], void> {
  let number = 1
  let rest = ''
  const take = (texts: readonly string[]): Line[] =>
    texts.map((text) => ({ line: number++, text })).filter(({ text }) => /[^ \t\r]/.test(text))
  for await (const text of decode(bytes)) {
    const parts = (rest + text).split('\n')
    rest = parts.pop() ?? ''
    if (rest.length > MAX_LINE) throw new ImportRefused(`line ${number + parts.length}: is too long`)
    yield take(parts)
  }
  yield take([rest])
}
