import { fieldValues, textLength } from '../../catalogue/book.ts'
import type { Imported, ImportedBook, ImportOptions } from '../../catalogue/store.ts'
import { Thread } from '../../threads/thread.ts'
import { requireFile } from './connection.ts'
import type { BookValues } from './import-staging.ts'
import type { ImportFunctions, ImportStart } from './import-thread.ts'
import { type ThreadClient, YOUNG_GENERATION } from './threads.ts'
import type { WriterFunctions } from './writer-thread.ts'

/** Groups that are sent to the thread before it has written the first of them. */
const AHEAD = 4

/** UTF-16 code units of a group's texts above which it is written before the next is prepared, to save memory. */
const LONG_GROUP = 256 * 1024

/**
 * Implements Store.import.
 * @param opened the `identityOf` the file.
 * @param writer pauses while the books are stored.
 */
export async function importIntoSqlite(
  path: string,
  opened: string | undefined,
  groups: AsyncIterable<readonly ImportedBook[]>,
  { signal, ...options }: ImportOptions,
  writer: ThreadClient<WriterFunctions>,
): Promise<Imported> {
  // The death of the thread would not say as clearly what is wrong.
  requireFile(path, opened)
  const start: ImportStart = { path, opened, options }
  const thread = new Thread<ImportFunctions>('import', 'store/sqlite/import-thread', start, YOUNG_GENERATION)
  try {
    const adding: Promise<unknown>[] = []
    for await (const group of groups) {
      signal?.throwIfAborted()
      if (adding.length === AHEAD) await adding.shift()
      const added = thread.call('add', flatten(group))
      // An error is thrown where it is awaited: at a later group, or below.
      added.catch(() => {})
      adding.push(added)
      if (group.reduce((sum, book) => sum + textLength(book), 0) > LONG_GROUP) await added
    }
    await Promise.all(adding)
    while (options.skipExisting && (await thread.call('skipExisting'))) signal?.throwIfAborted()
    if (options.dryRun) return await thread.call('count')
    await writer.call('pause')
    try {
      signal?.throwIfAborted()
      return await thread.call('store')
    } finally {
      await writer.call('resume').catch(() => {})
    }
  } finally {
    // A thread that has died has nothing to close.
    await thread.call('end').catch(() => {})
    await thread.terminate()
  }
}

/** One array is copied to a thread faster than an object for each book. */
function flatten(books: readonly ImportedBook[]): BookValues {
  const values: (string | number | null)[] = []
  for (const book of books) values.push(book.id ?? null, ...fieldValues(book))
  return values
}
