import type { Connection, RowDataPacket } from 'mysql2/promise'
import { SEARCHED_LENGTH } from '../../catalogue/search-words.ts'
import { type BookWords, DUE_BOOKS, type DueBook, type WordIndex } from '../client-server/search-indexer.ts'
import type { Use } from '../server-attempt.ts'

/** What tells the texts of books apart; not for security. */
const FINGERPRINT = "MD5(CONCAT(MD5(COALESCE(title, '')), MD5(COALESCE(author, ''))))"

/** 1 of a book whose words are not indexed; NULL of others. */
export const DUE = `IF(search_words_of <=> ${FINGERPRINT}, NULL, 1)`

/** Words in one statement: at 128 bytes each, and twice that as they are written, far less than a server accepts. */
const WORDS_AT_ONCE = 2000

// Otherwise the server might read the whole table in the order of ids.
const SELECT_DUE = `
  SELECT id, LEFT(COALESCE(title, ''), ${SEARCHED_LENGTH}) AS title,
    LEFT(COALESCE(author, ''), ${SEARCHED_LENGTH}) AS author, ${FINGERPRINT} AS fingerprint
  FROM books FORCE INDEX (books_words_due)
  WHERE search_words_due = 1 AND id > ? ORDER BY id LIMIT ${DUE_BOOKS}`

const LOCK = `
  SELECT id, ${FINGERPRINT} AS fingerprint FROM books
  WHERE id IN (?) AND search_words_due = 1 ORDER BY id FOR UPDATE`
const DELETE = 'DELETE FROM book_words WHERE book IN (?)'
const INSERT = 'INSERT INTO book_words (book, word) VALUES ?'
const MARK = `UPDATE books SET search_words_of = ${FINGERPRINT} WHERE id IN (?)`

/** The words in the table `book_words`. @param use does the work on a connection. */
export function mysqlWords(use: Use<Connection>): WordIndex {
  return {
    due: (after) =>
      use(async (connection) => {
        const [rows] = await connection.query<(DueBook & RowDataPacket)[]>(SELECT_DUE, [after])
        return rows
      }),
    store: (books) => use((connection) => store(connection, books)),
  }
}

async function store(connection: Connection, books: readonly BookWords[]): Promise<number> {
  await connection.beginTransaction()
  const ids = books.map(({ id }) => id)
  const [locked] = await connection.query<(Pick<DueBook, 'id' | 'fingerprint'> & RowDataPacket)[]>(LOCK, [
    ids,
  ])
  const fingerprints = new Map(locked.map(({ id, fingerprint }) => [id, fingerprint]))
  const unchanged = books.filter(({ id, fingerprint }) => fingerprints.get(id) === fingerprint)
  if (unchanged.length > 0) {
    const unchangedIds = unchanged.map(({ id }) => id)
    await connection.query(DELETE, [unchangedIds])
    const rows = unchanged.flatMap(({ id, words }) => words.map((word) => [id, Buffer.from(word)]))
    for (let i = 0; i < rows.length; i += WORDS_AT_ONCE)
      await connection.query(INSERT, [rows.slice(i, i + WORDS_AT_ONCE)])
    await connection.query(MARK, [unchangedIds])
  }
  await connection.commit()
  return unchanged.length
}
