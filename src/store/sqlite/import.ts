import {
  type Imported,
  type ImportedBook,
  type ImportOptions,
  StoreNotEmpty,
  StoreUnavailable,
} from '../../catalogue/store.ts'
import { errorOf, type Failed } from './failure.ts'
import type { Fields } from './import-staging.ts'
import type { ImportAnswer, ImportMessage } from './import-thread.ts'
import { SqliteThread } from './worker.ts'

/** Groups that are prepared while the thread writes one; of long ones, whose texts are in each group, none. */
const AHEAD = 4
const LONG_GROUP = 256 * 1024

type Answer = Exclude<ImportAnswer, Failed>

/**
 * Imports books as Store.import promises it.
 * @param hold keeps the writer of this process off the file, until what it gives is called.
 */
export async function importIntoSqlite(
  path: string,
  groups: AsyncIterable<readonly ImportedBook[]>,
  { signal, ...options }: ImportOptions,
  hold: () => Promise<() => void>,
): Promise<Imported> {
  const thread = new ImportThread(path)
  try {
    const asked: Promise<unknown>[] = []
    for await (const group of groups) {
      signal?.throwIfAborted()
      if (asked.length === AHEAD) await asked.shift()
      const fields = fieldsOf(group)
      const asking = thread.ask(fields)
      // Looked at with a later group, or below.
      asking.catch(() => {})
      asked.push(asking)
      if (group.reduce((sum, { title, author }) => sum + title.length + author.length, 0) > LONG_GROUP)
        await asking
    }
    for (const asking of asked) await asking
    while (options.skipExisting && (await thread.ask({ step: 'skip existing' })) === 'more') {
      signal?.throwIfAborted()
    }
    if (options.dryRun) return counts(await thread.ask({ step: 'count' }))
    const release = await hold()
    try {
      signal?.throwIfAborted()
      return counts(await thread.ask({ step: 'store', options }))
    } finally {
      release()
    }
  } finally {
    await thread.end()
  }
}

/** One array of all fields: copied to another thread sooner than an object for each book. */
function fieldsOf(books: readonly ImportedBook[]): Fields {
  const fields: (string | number | null)[] = []
  for (const { id, title, author, year } of books) fields.push(id ?? null, title, author, year)
  return fields
}

function counts(answer: Answer): Imported {
  if (answer === 'not empty') throw new StoreNotEmpty()
  if (answer === null || answer === 'more') throw new Error('an import was not counted')
  return answer
}

class ImportThread {
  readonly #thread: SqliteThread<ImportMessage, ImportAnswer>
  readonly #asked: PromiseWithResolvers<Answer>[] = []
  #hasEnded = false

  constructor(path: string) {
    this.#thread = new SqliteThread('./import-thread.ts', path, {
      answered: (answer) => this.#answered(answer),
      ended: (cause) => {
        this.#hasEnded = true
        const message = `the thread of an import died: ${cause.message}`
        for (const { reject } of this.#asked.splice(0)) reject(new StoreUnavailable(message, { cause }))
      },
    })
  }

  async ask(message: ImportMessage): Promise<Answer> {
    if (this.#hasEnded) throw new StoreUnavailable('the thread of an import died')
    const asked = Promise.withResolvers<Answer>()
    this.#asked.push(asked)
    this.#thread.post(message)
    return asked.promise
  }

  end(): Promise<void> {
    return this.#thread.end()
  }

  #answered(answer: ImportAnswer): void {
    const asked = this.#asked.shift()
    if (answer !== null && typeof answer === 'object' && 'error' in answer) asked?.reject(errorOf(answer))
    else asked?.resolve(answer)
  }
}
