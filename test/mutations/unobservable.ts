import type { Mutant } from './mutants.ts'

interface Entry {
  readonly file: string
  /** The text of the line, without what stands before and after it. */
  readonly line: string
  /** As in the ids, separated by blanks. */
  readonly operators: string
  readonly reason: string
}

/**
 * Mistakes that `test:mutations` leaves out because they change nothing that can be observed.
 */
const UNOBSERVABLE: readonly Entry[] = [
  {
    file: 'src/auth/auth.ts',
    line: 'if (token.length <= REMEMBERED_TOKEN_LENGTH) this.#remembered.set(token, payload.exp)',
    operators: 'less-or-equal',
    reason: 'A token of exactly this length is verified again, with the same result.',
  },
  {
    file: 'src/catalogue/search-words.js',
    line: "if (parts.length > 1) words.add(cut(compose(parts.join('').replace(SIGNS, ''))))",
    operators: 'greater',
    reason: 'A part that is alone is added once more, to a set.',
  },
  {
    file: 'src/catalogue/page.ts',
    line: 'books = page.count < books ? Math.ceil(books / 2) : Math.min(2 * books, store.listBounds.books)',
    operators: 'less number number-2',
    reason: 'The pages become smaller or larger, and the list stays the same.',
  },
  {
    file: 'src/store/query/key-ranges.ts',
    line: 'const words = filter.words ?? []',
    operators: 'fallback',
    reason: 'Only searches are sorted by relevance, and they have words.',
  },
  {
    file: 'src/store/client-server/search-indexer.ts',
    line: 'return false',
    operators: 'return',
    reason: 'Queries take no answer for the same: the index may miss books.',
  },
  {
    file: 'src/files/column-names.ts',
    line: 'const MAX_LENGTH = 100',
    operators: 'number',
    reason: 'A name that is so long is none that is known, with twice the length too.',
  },
  {
    file: 'src/http/failure-log.ts',
    line: 'if (outage === undefined) return',
    operators: 'if-never',
    reason: 'The timer ends with the outage.',
  },
  {
    file: 'src/cli/output-file.ts',
    line: "if (path === '-') return await writeAll(process.stdout, parts)",
    operators: 'await',
    reason: 'The promise of the outer function waits for it too.',
  },
  {
    file: 'src/http/web-page/assets.ts',
    line: "const version = digest.digest('base64url').slice(0, 16)",
    operators: 'number number-2',
    reason: 'A digest of 15 characters is as good as one of 16.',
  },
  {
    file: 'src/http/web-page/routes.ts',
    line: 'return sendFile(request, reply, file)',
    operators: 'return',
    reason: 'The file has been sent by then.',
  },
  {
    file: 'src/http/graceful-shutdown.ts',
    line: 'const THREAD_TIME = 500',
    operators: 'number',
    reason: 'A process that is killed ends a little earlier or later.',
  },
  {
    file: 'src/http/listen.ts',
    line: 'for (const each of all) (each instanceof Server ? Server.prototype : HttpServer.prototype).close.call(each)',
    operators: 'choose-first',
    reason: 'The other case is for Bun.',
  },
  {
    file: 'src/http/protocol/close.ts',
    line: 'socket.destroy()',
    operators: 'call',
    reason: 'A socket that is not writable any more is closed by Node.',
  },
  {
    file: 'src/http/server.ts',
    line: "if (settings.logLevel === 'debug' || settings.logLevel === 'trace') logResponses(app)",
    operators: 'if-always',
    reason: 'The log leaves out lines of a lower level itself.',
  },
  {
    file: 'src/http/error-handler.ts',
    line: "const hasScheme = /^(?:bearer$|[\\w-]+ )/i.test(request.headers.authorization ?? '')",
    operators: 'fallback',
    reason: 'The text that is made of undefined has no scheme either.',
  },
  {
    file: 'src/http/cors.ts',
    line: 'if (!URL.canParse(origin)) return false',
    operators: 'return',
    reason: 'Undefined counts as false.',
  },
  {
    file: 'src/http/protocol/body.ts',
    line: 'const capacity = isFirst ? size : Math.max(size, Math.min(2 * buffer.length, limit))',
    operators: 'choose-second',
    reason: 'The buffer is empty before the first chunk, so the result is the same.',
  },
  {
    file: 'src/http/protocol/body.ts',
    line: 'if (json.length <= MAX_SEPARATORS) return false',
    operators: 'return',
    reason: 'Undefined counts as false.',
  },
  {
    file: 'src/http/routes/list-stream.ts',
    line: 'if (turnEnd < 0) beginTurn()',
    operators: 'number',
    reason: 'It is -1, or a time much later than 1.',
  },
  {
    file: 'src/files/csv-parser.ts',
    line: '#fieldLine = 1',
    operators: 'number',
    reason: 'It is set before each field in quotes.',
  },
  {
    file: 'src/files/csv-parser.ts',
    line: 'let asked = 0',
    operators: 'number',
    reason: 'The text is searched once more from its beginning, with the same result.',
  },
  {
    file: 'src/files/csv-parser.ts',
    line: 'if (found < from || from < asked) {',
    operators: 'if-always less-2',
    reason: 'The text is searched again, with the same result.',
  },
  {
    file: 'src/observability/metrics.ts',
    line: 'this.#durations.observe({ route, method }, reply.elapsedTime / 1000)',
    operators: 'number',
    reason: 'A thousandth of a duration that differs each time.',
  },
  {
    file: 'src/observability/metrics.ts',
    line: 'done()',
    operators: 'call',
    reason: 'It is the last hook, and nothing waits for its end.',
  },
  {
    file: 'src/observability/logging.ts',
    line: 'const end = written > rest.length ? bytes.length : rest.length',
    operators: 'greater',
    reason: 'A line that is not begun is kept instead of lost, if the pipe is full to the byte.',
  },
  {
    file: 'src/catalogue/book.ts',
    line: 'if (value === undefined || value === null) {',
    operators: 'equal-2',
    reason: 'No field of a book is nullable yet.',
  },
  {
    file: 'src/catalogue/book.ts',
    line: 'const EXAMPLE_ID = 1',
    operators: 'number',
    reason: 'Any id is an example.',
  },
  {
    file: 'src/catalogue/query.ts',
    line: "const first = order === 'relevance' ? undefined : order[0]",
    operators: 'choose-second',
    reason: 'A letter has no name.',
  },
  {
    file: 'src/files/csv-parser.ts',
    line: 'const text = isCut ? all.slice(0, -1) : all',
    operators: 'number-2',
    reason: 'What is cut off is read again with the next part.',
  },
  {
    file: 'src/files/csv-parser.ts',
    line: 'this.#field += end === first ? part : halved(part)',
    operators: 'choose-second',
    reason: 'The part has no doubled quotes.',
  },
  {
    file: 'src/files/csv-layouts.ts',
    line: "columns.map(([field, place]) => [field, place < 0 ? null : columnName(header[place] ?? '')]),",
    operators: 'fallback',
    reason: 'A place that is not negative is one of the header.',
  },
  {
    file: 'src/files/read-books.ts',
    line: 'begin = performance.now()',
    operators: 'assignment',
    reason: 'Turns of the event loop end more often than they have to.',
  },
  {
    file: 'src/auth/auth.ts',
    line: 'if (this.#issued?.expiry !== expiry) this.#issued = { expiry, token: this.#sign(expiry) }',
    operators: 'if-always',
    reason: 'A token that is signed again in the same second is the same.',
  },
  {
    file: 'src/auth/login-throttle.ts',
    line: "const bytes = [mapped[1], mapped[2]].map((group) => Number.parseInt(group ?? '', 16))",
    operators: 'fallback',
    reason: 'Both groups of the pattern always match.',
  },
  {
    file: 'src/observability/logging.ts',
    line: 'return 0',
    operators: 'return',
    reason: 'Undefined counts as 0.',
  },
  {
    file: 'src/files/csv-layouts.ts',
    line: "return isNullable(name) && text === '' ? undefined : text",
    operators: 'equal',
    reason: 'No field of a book is nullable yet.',
  },
  {
    file: 'src/files/csv-reader.ts',
    line: 'if (!NEWLINE.test(rest) && before.length + start.length <= MAX_ROW) continue',
    operators: 'less-or-equal',
    reason: 'The delimiter was found long before so many characters.',
  },
  {
    file: 'src/files/read-books.ts',
    line: 'let headerLine = 0',
    operators: 'number',
    reason: 'It is set together with the source, before either is read.',
  },
  {
    file: 'src/files/read-books.ts',
    line: 'const TURN_TIME = 5',
    operators: 'number',
    reason: 'Turns of the event loop are a fifth shorter.',
  },
]

/** @returns those that have an entry. @throws Error for an entry whose line or operator is no longer there. */
export function unobservableOf(candidates: readonly Mutant[]): ReadonlySet<Mutant> {
  const found = UNOBSERVABLE.flatMap(({ file, line, operators }) =>
    operators.split(' ').flatMap((operator) => {
      const mutants = candidates.filter(
        (mutant) => mutant.file === file && mutant.line === line && mutant.operator === operator,
      )
      if (mutants.length === 0)
        throw new Error(`test/mutations/unobservable.ts: no ${operator} in ${file}: ${line}`)
      return mutants
    }),
  )
  return new Set(found)
}
