import { copyFileSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Book } from '../../src/catalogue/book.ts'
import { temporaryDirectory } from '../support/service.ts'

/** What a database file holds. */
export interface Stored {
  readonly rows: readonly Book[]
  /** The response of SQLite's integrity check: `ok`, or what is wrong. */
  readonly integrity: string
}

/**
 * Reads a file that no service has open. It reads a copy, because SQLite would recover the file itself, which is for the
 * next service to do.
 */
export function readStored(path: string): Stored {
  const directory = temporaryDirectory()
  try {
    const copy = join(directory.path, 'books.db')
    for (const suffix of ['', '-wal', '-journal'])
      if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix)
    using database = new DatabaseSync(copy)
    const lines = database.prepare('PRAGMA integrity_check').all()
    const rows = database.prepare('SELECT id, title, author, year FROM books').all()
    return {
      rows: rows as unknown as Book[],
      integrity: lines.map(({ integrity_check }) => String(integrity_check)).join('; '),
    }
  } finally {
    directory.remove()
  }
}
