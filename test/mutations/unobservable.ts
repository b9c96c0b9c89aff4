import type { Mutant } from './mutants.ts'

/**
 * Mistakes that `test:mutations` leaves out because they change nothing that can be observed: the file and the operators,
 * as in the ids; the line; and the reason.
 */
const UNOBSERVABLE = String.raw`
src/auth/auth.ts less-or-equal
  if (token.length <= REMEMBERED_TOKEN_LENGTH) this.#remembered.set(token, payload.exp)
  A token of exactly this length is verified again, with the same result.
src/auth/auth.ts if-always
  if (this.#issued?.expiry !== expiry) this.#issued = { expiry, token: this.#sign(expiry) }
  A token that is signed again in the same second is the same.
src/auth/login-throttle.ts fallback
  const bytes = [mapped[1], mapped[2]].map((group) => Number.parseInt(group ?? '', 16))
  Both groups of the pattern always match.
src/catalogue/book.ts equal-2
  if (value === undefined || value === null) {
  No field of a book is nullable yet.
src/catalogue/book.ts if-never
  if (isNullable(name)) return undefined
  No field of a book is nullable yet.
src/catalogue/book.ts fallback
  return FIELD_NAMES.map((name) => book[name] ?? null)
  No field of a book is nullable yet.
src/catalogue/book.ts greater
  const mayBe = MAX_UNIT_SIZE * (textLength(book) + FRAME_UNITS) > MAX_BOOK_SIZE
  A book that may be too long is measured, with the same result.
src/catalogue/book.ts number
  const EXAMPLE_ID = 1
  Any id is an example.
src/catalogue/book.ts fallback
  const lengthOf = (name: TextField) => book[name]?.length ?? 0
  No field of a book is nullable yet.
src/catalogue/book.ts number
  year: 1969,
  Any year is an example.
src/catalogue/page.ts less number number-2
  books = page.count < books ? Math.ceil(books / 2) : Math.min(2 * books, store.listBounds.books)
  The pages become smaller or larger, and the list stays the same.
src/catalogue/query.ts choose-second
  const first = order === 'relevance' ? undefined : order[0]
  A letter has no name.
src/catalogue/search-words.js greater
  if (parts.length > 1) words.add(cut(compose(parts.join('').replace(SIGNS, ''))))
  A part that is alone is added once more, to a set.
src/catalogue/search-words.js less
  for (let part = PARTS.exec(word); part !== null && words.size < MAX_WORDS; part = PARTS.exec(word)) {
  The caller cuts one word too many.
src/catalogue/search-words.js if-never
  if (known !== undefined) return known
  The character is folded once more, with the same result.
src/catalogue/search-words.js fallback number-2
  let code = character.codePointAt(0) ?? 0
  There is a character.
src/catalogue/search-words.js number
  end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1
  There is a character.
src/catalogue/search-words.js fallback
  (letter) => VOWELS[letter] ?? FINALS[letter.charCodeAt(0) - FIRST_FINAL] ?? letter,
  Each letter that the pattern matches is in one of the two tables.
src/catalogue/search-words.js if-always
  if (!LATIN.test(text)) return foldAny(text)
  The text is folded in the way of all others, with the same result.
src/catalogue/search-words.js greater
  end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1
  Unicode has no character at U+FFFF.
src/catalogue/search-words.js less-or-equal minus
  if (text.length - begin <= length) return text.slice(begin)
  The text is cut by code points, with the same result.
src/catalogue/search-words.js choose-second
  return ASCII.test(letters) ? letters : compose(letters)
  ASCII letters are composed to themselves, in more time.
src/catalogue/sort-key.ts number
  export const SORT_KEY_VERSION = 3
  Any version that differs from those of earlier releases will do.
src/cli/commands/copy.ts number
  let copied = 0
  The progress would be one book ahead.
src/cli/commands/token.ts fallback
  const seconds = Number(count) * (UNITS[unit] ?? Number.NaN)
  The product is NaN without it, too.
src/config.ts number
  if (!NETWORKS.includes(item) && !(longest > 0 && isNetwork && others.length === 0)) throw wrong(item)
  It is -1, 32 or 128.
src/config.ts number-5
  const longest = { 4: 32, 6: 128 }[isIP(address)] ?? -1
  Any negative number is no length.
src/files/column-names.ts number
  const MAX_LENGTH = 100
  A name that is so long is none that is known, with twice the length too.
src/files/csv-layouts.ts fallback
  columns.map(([field, place]) => [field, place < 0 ? null : columnName(header[place] ?? '')]),
  A place that is not negative is one of the header.
src/files/csv-layouts.ts equal
  return isNullable(name) && text === '' ? undefined : text
  No field of a book is nullable yet.
src/files/csv-parser.ts number
  #fieldLine = 1
  It is set before each field in quotes.
src/files/csv-parser.ts number
  let asked = 0
  The text is searched once more from its beginning, with the same result.
src/files/csv-parser.ts if-always less-2
  if (found < from || from < asked) {
  The text is searched again, with the same result.
src/files/csv-parser.ts number-2
  const text = isCut ? all.slice(0, -1) : all
  What is cut off is read again with the next part.
src/files/csv-parser.ts choose-second
  this.#field += end === first ? part : halved(part)
  The part has no doubled quotes.
src/files/csv-reader.ts less-or-equal
  if (isUnfinished(start) && before.length <= MAX_ROW) continue
  One more blank character is read before the header.
src/files/read-books.ts assignment
  begin = performance.now()
  Turns of the event loop end more often than they have to.
src/files/read-books.ts number
  let headerLine = 0
  It is set together with the source, before either is read.
src/files/read-books.ts number
  const TURN_TIME = 5
  Turns of the event loop are a fifth shorter.
src/http/cors.ts return
  if (!URL.canParse(origin)) return false
  Undefined counts as false.
src/http/error-handler.ts fallback
  const hasScheme = /^(?:bearer$|[\w-]+ )/i.test(request.headers.authorization ?? '')
  The text that is made of undefined has no scheme either.
src/http/failure-log.ts if-never
  if (outage === undefined) return
  The timer ends with the outage.
src/http/failure-log.ts number
  end: 0,
  The failure that begins an outage sets it.
src/http/graceful-shutdown.ts number
  const THREAD_TIME = 500
  A process that is killed ends a little earlier or later.
src/http/listen.ts choose-first
  const { close } = (server instanceof Server ? Server : process.getBuiltinModule('node:http').Server)
  The other case is for Bun.
src/http/protocol/body.ts choose-second
  const capacity = isFirst ? size : Math.max(size, Math.min(2 * buffer.length, limit))
  The buffer is empty before the first chunk, so the result is the same.
src/http/protocol/body.ts return
  if (json.length <= MAX_SEPARATORS) return false
  Undefined counts as false.
src/http/protocol/close.ts call
  socket.destroy()
  A socket that is not writable any more is closed by Node.
src/http/protocol/connections.ts number
  const MAX_CONNECTIONS = 8000
  One connection more is as good.
src/http/routes/list-books.ts less
  const isShort = typeof list === 'string' && list.length < MIN_LENGTH
  Whether a text of just this length is compressed makes no difference.
src/http/routes/list-parameters.ts if-never
  if (queryStringOf(request.originalUrl) === '') return undefined
  The list of all books is the same, and takes a little longer.
src/http/routes/list-stream.ts number
  if (turnEnd < 0) beginTurn()
  It is -1, or a time much later than 1.
src/http/server.ts if-always
  if (settings.logLevel === 'debug' || settings.logLevel === 'trace') logResponses(app)
  The log leaves out lines of a lower level itself.
src/http/valid-input.ts and-2
  if (valueType !== type && !(Array.isArray(type) && type.includes(valueType))) return false
  No field of a book is nullable yet.
src/http/valid-input.ts return
  if (valueType !== type && !(Array.isArray(type) && type.includes(valueType))) return false
  Undefined is as good as false.
src/http/valid-input.ts choose-second
  const valueType = value === null ? 'null' : Number.isInteger(value) ? 'integer' : typeof value
  No field of a book is nullable yet.
src/http/valid-input.ts call
  patterns.set(pattern, known)
  The pattern is compiled once more.
src/http/web-page/assets.ts number number-2
  const version = digest.digest('base64url').slice(0, 16)
  A digest of 15 characters is as good as one of 16.
src/http/web-page/routes.ts return
  return sendFile(request, reply, file)
  The file has been sent by then.
src/main.ts call
  module.flushCompileCache?.()
  A service that was killed would start more slowly.
src/main.ts await
  await runCommandLine(process.argv.slice(2))
  A service that was killed would start more slowly, and later requests would take longer.
src/observability/logging.ts greater
  const end = written > rest.length ? bytes.length : rest.length
  A line that is not begun is kept instead of lost, if the pipe is full to the byte.
src/observability/logging.ts return
  return 0
  Undefined counts as 0.
src/observability/metrics.ts number
  this.#durations.observe({ route, method }, reply.elapsedTime / 1000)
  A thousandth of a duration that differs each time.
src/observability/metrics.ts call
  done()
  It is the last hook, and nothing waits for its end.
src/resources.ts fallback
  return readFile(paths.find((each) => existsSync(each)) ?? path)
  A package that is not installed cannot be read from any path.
src/store/client-server/import.ts await
  await iterator.return?.()
  Nothing waits for the end of a file that is given up.
src/store/client-server/pool.ts number
  const LEAST_TIME = 100
  The last attempt is given up a little earlier.
src/store/client-server/pool.ts one-off
  const pause = Math.min(PAUSE * 2 ** (number - 1), LONGEST_PAUSE) * Math.random()
  The pauses are random.
src/store/client-server/queries.ts return
  return pageOf(rows, { last: last && [last.id], more })
  The page is read in the way for longer books, with the same result.
src/store/client-server/search-indexer.ts less
  if (this.#beganAt === undefined || performance.now() - this.#beganAt < time)
  A millisecond makes no difference.
src/store/client-server/search-indexer.ts assignment
  this.#writes = 0
  The next pass begins earlier.
src/store/client-server/search-indexer.ts return
  return false
  Queries take no answer for the same: the index may miss books.
src/store/mysql/dialect.ts choose-second
  const rarest = exact ? rare.exact : rare.prefix
  The books are the same, and may take longer to find.
src/store/mysql/engine.ts choose-second
  const bytes = values.map((value) => (typeof value === 'string' ? Buffer.from(value) : value))
  mysql2 escapes texts, too, as long as sql_mode is as the service sets it.
src/store/mysql/import.ts fallback
  const titles = unique(({ title }) => title).map((title) => Buffer.from(keyOf('title', String(title)) ?? ''))
  A title has a key.
src/store/postgres/import.ts fallback
  return Number(rows[0]?.value ?? 0)
  Null counts as 0.
src/store/postgres/schema.ts false false-2
  const [hasKeys = false, hasWords = false] = await ensureObjects(pool, editor, [KEYS, WORD_GROUP], report)
  There is a result for each group.
src/store/postgres/settings.ts number number-2
  const [account, database] = [rows[0]?.account, rows[0]?.database].map((name) =>
  Each row has both.
src/store/query/dialect.ts if-never
  if (key === undefined) throw new Error('a position has fewer values than the order has fields')
  The caller gives as many.
src/store/query/key-ranges.ts or fallback fallback-2
  const isInside = year === undefined || ((yearMin ?? year) <= year && year <= (yearMax ?? year))
  The filter has both limits then, and SQLite may read more rows.
src/store/query/key-ranges.ts true true-2
  const equalTo = (key: Value) => () => all(true, true).compare(first.name, '=', key)
  The filter has both limits then, and SQLite may read more rows.
src/store/query/key-ranges.ts fallback
  const words = filter.words ?? []
  Only searches are sorted by relevance, and they have words.
src/store/sqlite/dialect.ts and
  ...(database && !isBehind && { lookUp: lookUpIn(database) }),
  Without looking up words first, the same books take longer to find.
src/store/sqlite/dialect.ts choose-second
  keyOf: (name, text) => (isBehind ? undefined : String(sortKey(name, text))),
  The same books take longer to find.
src/store/sqlite/group-commit.ts fallback
  const values = fields.map((name) => write.changes[name] ?? null)
  No field of a book is nullable yet.
src/store/sqlite/import-staging.ts number
  const REMOVED = 20_000
  The same books are removed, in more or fewer statements.
src/store/sqlite/import.ts await
  await writer.call('pause')
  Otherwise the import waits for SQLite's lock.
src/store/sqlite/index-scheduler.ts minus
  const most = Date.now() - askedAt < ASKED_TIME ? MAX_WRITES.asked : MAX_WRITES.unasked
  The index takes larger or smaller steps.
src/store/sqlite/query-thread.ts assignment
  isFollowing = true
  The writer is asked more often.
src/store/sqlite/query-thread.ts number
  const ROWS = 1000
  Queries are cancelled a millisecond later.
src/store/sqlite/query-thread.ts number
  if (++rows % ROWS === 0) receiveNow()
  The count of rows begins anywhere.
src/store/sqlite/query-thread.ts if-always
  if (isBehind) follow()
  An index that is current is found to be so.
src/store/sqlite/query-thread.ts true
  () => true,
  The state of the index is read again.
src/store/sqlite/query-thread.ts choose-second
  query.index = (await isTrueWithin(indexing, INDEX_TIME)) ? 'none' : 'as it is'
  The state of the index is read again.
src/store/sqlite/query.ts minus one-off
  return statement.get(...unindexed.values, ...books.values, number - 1)?.key as Value | undefined
  The ranges become larger or smaller, and the books stay the same.
src/store/sqlite/serve.ts call
  connected.delete(rpc)
  No message arrives on a port that is closed.
src/store/sqlite/service-lock.ts number
  database = new DatabaseSync(file, { timeout: 0 })
  A millisecond makes no difference.
src/store/sqlite/store.ts await
  await Promise.all([writer, pages, searches].map((thread) => thread.close()))
  They close their ports at once.
src/store/sqlite/store.ts await
  count: async (filter, options) => (await query(searches, { kind: 'count', filter }, options)) as number,
  The caller waits for the promise.
src/store/sqlite/store.ts number
  threads: 1,
  The commands, which use it, import, and write nothing else.
src/store/sqlite/store.ts number
  await books.find(1)
  Any id is as good.
src/store/sqlite/store.ts return
  return false
  Undefined counts as false.
src/store/sqlite/threads.ts call
  await thread.call('end').catch(() => {})
  SQLite recovers what a thread leaves that ends at once.
src/store/timeout.ts call
  promise.catch(() => {})
  Whoever makes a deadline waits for it.
`

/** @returns those that have an entry. @throws Error for an entry whose line or operator is no longer there. */
export function unobservableOf(candidates: readonly Mutant[]): ReadonlySet<Mutant> {
  const entries = UNOBSERVABLE.matchAll(/^(\S+) (.*)\n {2}(.*)\n {2}.*\n/gm)
  const found = Array.from(entries).flatMap(([, file, operators = '', line]) =>
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
