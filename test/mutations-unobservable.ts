interface Entry {
  readonly file: string
  /** The text of the line, without what stands before and after it. */
  readonly line: string
  /** As in the ids, separated by blanks. */
  readonly operators: string
  readonly reason: string
}

/**
 * Mistakes that `mutations-run.ts` leaves out because they change nothing that can be observed. An entry whose line or
 * operator is no longer there makes the run fail.
 */
export const UNOBSERVABLE: readonly Entry[] = [
  {
    file: 'src/auth/auth.ts',
    line: 'if (token.length > REMEMBERED_TOKEN_LENGTH) return',
    operators: 'greater',
    reason: 'A token of exactly this length is verified again, with the same result.',
  },
  {
    file: 'src/http/page-cursor.ts',
    line: "const digestOf = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 16)",
    operators: 'number number-2',
    reason: 'A digest of 15 characters is as good as one of 16.',
  },
  {
    file: 'src/catalogue/search-words.ts',
    line: "if (parts.length > 1) words.add(cut(compose(parts.join('').replace(SIGNS, ''))))",
    operators: 'greater',
    reason: 'A part that is alone is added once more, to a set.',
  },
  {
    file: 'src/store/sqlite/list.ts',
    line: 'page.text * 2 > STREAM_PAGE.text ? page.books : Math.min(2 * page.books, STREAM_PAGE.books)',
    operators: 'number number-2',
    reason: 'The parts of the list become smaller, and it stays the same.',
  },
  {
    file: 'src/store/sqlite/list.ts',
    line: 'while (text > STREAM_PAGE.text && books > 1) {',
    operators: 'greater',
    reason: 'The parts of the list become smaller, and it stays the same.',
  },
  {
    file: 'src/store/query/key-ranges.ts',
    line: 'const words = filter.words ?? []',
    operators: 'fallback',
    reason: 'Only searches are sorted by relevance, and they have words.',
  },
]
