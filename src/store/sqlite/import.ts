import { fieldValues, textLength } from '../../catalogue/book.ts'
import { type Imported, type ImportedBook, type ImportOptions, StoreNotEmpty } from '../../catalogue/store.ts'
import type { BookValues } from './import-staging.ts'
import type { ImportAnswer, ImportRequest } from './import-thread.ts'
import { WorkerClient } from './worker.ts'

/** Groups that are prepared while the thread writes one. */
const AHEAD = 4

/** UTF-16 code units of a group's texts above which no other group is prepared meanwhile. */
const LONG_GROUP = 256 * 1024

/**
 * Implements Store.import.
 * @param hold pauses the writer of this process until the returned function is called.
 */
export async function importIntoSqlite(
  path: string,
  groups: AsyncIterable<readonly ImportedBook[]>,
  { signal, ...options }: ImportOptions,
  hold: () => Promise<() => void>,
): Promise<Imported> {
  const thread = new WorkerClient<ImportRequest, ImportAnswer>('import', 'store/sqlite/import-thread', path)
  try {
    await thread.request({ options })
    const asked: Promise<unknown>[] = []
    for await (const group of groups) {
      signal?.throwIfAborted()
      if (asked.length === AHEAD) await asked.shift()
      const asking = thread.request(flatten(group))
      // Awaited with a later group, or below.
      asking.catch(() => {})
      asked.push(asking)
      if (group.reduce((sum, book) => sum + textLength(book), 0) > LONG_GROUP) await asking
    }
    for (const asking of asked) await asking
    while (options.skipExisting && (await thread.request({ step: 'skip existing' })) === 'more') {
      signal?.throwIfAborted()
    }
    if (options.dryRun) return counts(await thread.request({ step: 'count' }))
    const release = await hold()
    try {
      signal?.throwIfAborted()
      return counts(await thread.request({ step: 'store' }))
    } finally {
      release()
    }
  } finally {
    await thread.end()
  }
}

/** One array of all values. It is copied to a thread faster than an object for each book. */
function flatten(books: readonly ImportedBook[]): BookValues {
  const values: (string | number | null)[] = []
  for (const book of books) values.push(book.id ?? null, ...fieldValues(book))
  return values
}

function counts(answer: ImportAnswer): Imported {
  if (answer === 'not empty') throw new StoreNotEmpty()
  if (answer === undefined || answer === 'more') throw new Error('an import was not counted')
  return answer
}
