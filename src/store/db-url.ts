/** Where the store is, as read from `DB_URL`. */
export interface DbUrl {
  readonly engine: 'sqlite'
  /** Path of the database file, relative to the working directory or absolute. */
  readonly path: string
}

/** What `DB_URL` may be, for messages. */
export const ACCEPTED_DB_URLS = 'sqlite:<path of a file>, such as sqlite:data/books.db'

/**
 * Reads a `DB_URL`.
 * @throws Error whose message says what is wrong, without quoting the value, which may hold a password.
 */
export function parseDbUrl(text: string): DbUrl {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)
  if (scheme === null) throw new Error('has no scheme')
  if (scheme[1]?.toLowerCase() !== 'sqlite') throw new Error('has an unknown scheme')
  // sqlite:relative, sqlite:/absolute, and the URL forms sqlite://relative and sqlite:///absolute.
  const path = text
    .slice(scheme[0].length)
    .replace(/^\/\//, '')
    // A drive of Windows, as in sqlite:///C:/books.db.
    .replace(/^\/(?=[a-z]:)/i, '')
  if (path === '') throw new Error('names no file')
  if (path === ':memory:') throw new Error('names no file, and a catalogue in memory would lose its books')
  if (path.includes('?') || path.includes('\0')) throw new Error('has options after the path')
  return { engine: 'sqlite', path }
}
