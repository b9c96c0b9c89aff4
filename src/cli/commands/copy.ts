import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Book } from '../../catalogue/book.ts'
import { allPages, booksOf } from '../../catalogue/page.ts'
import { ALL_BOOKS } from '../../catalogue/query.ts'
import { type Store, StoreNotEmpty } from '../../catalogue/store.ts'
import type { Config } from '../../config.ts'
import { OperatorError, UsageError } from '../../errors.ts'
import { type DbUrl, parseDbUrl } from '../../store/db-url.ts'
import {
  type Command,
  counted,
  interrupted,
  interruption,
  throwIfInterrupted,
  withSettings,
} from '../command.ts'
import { ProgressBar } from '../progress-bar.ts'
import { withStore } from '../with-store.ts'

export const command: Command = {
  usage: 'copy --from DB_URL --to DB_URL',
  description: `Copies all books, with their ids, into an empty store: from SQLite to a server, back, or between servers.
Either all books arrive or none. At the end the command reads both stores and compares their books. Stop the service
first, because nobody may write to either store meanwhile. The setting DB_URL is not used.
Other users of this machine can see the arguments of a command. If a DB_URL has a password, write it into a file that
only you can read, and give @FILE instead.`,
  operands: 0,
  options: {
    from: { type: 'string', description: 'the DB_URL of the store to copy from, or @FILE' },
    to: { type: 'string', description: 'the DB_URL of the store to copy to, or @FILE' },
  },
  run: (args) => {
    const { from, to } = args.values
    if (typeof from !== 'string' || typeof to !== 'string') throw new UsageError('copy needs --from and --to')
    return withSettings('copy', args, (config) => copy(read('--from', from), read('--to', to), config))
  },
}

async function copy(from: DbUrl, to: DbUrl, { storeTimeout }: Config): Promise<void> {
  let outcome = 'the books were not copied'
  const signal = interruption(() => outcome)
  const books = await withStore('--from', { dbUrl: from, storeTimeout, signal, reads: true }, (source) =>
    withStore('--to', { dbUrl: to, storeTimeout, signal }, async (target) => {
      const total = await source.count({})
      await copyBooks(source, target, total, signal)
      outcome = 'the books were copied, but the stores were not compared'
      // From the commit on, the signal cannot cancel the import any more.
      if (signal.aborted) throw interrupted(outcome)
      return verify(source, target, total, signal)
    }),
  )
  process.stdout.write(
    `copied ${counted(books.count, 'book')}; both stores have the checksum ${books.checksum}\n`,
  )
}

async function copyBooks(source: Store, target: Store, total: number, signal: AbortSignal): Promise<void> {
  const progress = new ProgressBar('copying', 'books')
  async function* groups(): AsyncGenerator<Book[]> {
    let copied = 0
    for await (const group of groupsOf(source, signal)) {
      yield group
      copied += group.length
      progress.update(copied, total)
    }
  }
  try {
    await target.import(groups(), { keepIds: true, signal })
  } catch (error) {
    if (!(error instanceof StoreNotEmpty)) throw error
    throw new OperatorError(`--to: ${error.message}; it has to be empty`, { cause: error })
  } finally {
    progress.end()
  }
}

interface Content {
  readonly count: number
  /** SHA-256 of the books as lines of JSON, in the order of their ids. */
  readonly checksum: string
}

async function verify(source: Store, target: Store, total: number, signal: AbortSignal): Promise<Content> {
  const progress = new ProgressBar('verifying', 'books')
  let read = 0
  const contentOf = async (store: Store): Promise<Content> => {
    const hash = createHash('sha256')
    let count = 0
    for await (const group of groupsOf(store, signal)) {
      hash.update(group.map((book) => `${JSON.stringify(book)}\n`).join(''))
      count += group.length
      read += group.length
      progress.update(read, 2 * total)
    }
    return { count, checksum: hash.digest('hex') }
  }
  try {
    const [original, copied] = [await contentOf(source), await contentOf(target)]
    if (original.checksum === copied.checksum) return copied
    throw new OperatorError(
      `the stores differ: --from has ${counted(original.count, 'book')}, --to has ${copied.count}. One of them was ` +
        'changed meanwhile: empty --to, stop the service, and copy again',
    )
  } finally {
    progress.end()
  }
}

async function* groupsOf(store: Store, signal: AbortSignal): AsyncGenerator<Book[]> {
  for await (const page of allPages(store, ALL_BOOKS)) {
    const books = booksOf(page)
    await throwIfInterrupted(signal)
    yield books
  }
}

/** @throws OperatorError whose message names the option and quotes nothing that may be a password. */
function read(option: string, text: string): DbUrl {
  try {
    return parseDbUrl(text.startsWith('@') ? readFileSync(text.slice(1), 'utf8').trim() : text)
  } catch (error) {
    throw new OperatorError(`${option} ${(error as Error).message}`, { cause: error })
  }
}
