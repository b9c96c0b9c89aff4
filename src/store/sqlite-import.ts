import { errorOf, type Failed } from './sqlite-failure.ts'
import type { ImportAnswer, ImportMessage } from './sqlite-import-thread.ts'
import { SqliteThread } from './sqlite-thread.ts'
import {
  type Imported,
  type ImportedBook,
  type ImportOptions,
  StoreNotEmpty,
  StoreUnavailable,
} from './store.ts'

type Answer = Exclude<ImportAnswer, Failed>

/**
 * Imports books as Store.import promises it.
 * @param hold keeps the writer of this process off the file, until what it gives is called.
 */
export async function importIntoSqlite(
  path: string,
  groups: AsyncIterable<readonly ImportedBook[]>,
  options: ImportOptions,
  hold: () => Promise<() => void>,
): Promise<Imported> {
  const thread = new ImportThread(path)
  try {
    // The next group is prepared while the thread writes one.
    let previous: Promise<unknown> = Promise.resolve()
    for await (const group of groups) {
      await previous
      previous = thread.ask(group)
      // Looked at with the next group, or below.
      previous.catch(() => {})
    }
    await previous
    if (options.skipExisting) await thread.ask({ step: 'skip existing' })
    if (options.dryRun) return counts(await thread.ask({ step: 'count' }))
    const release = await hold()
    try {
      return counts(await thread.ask({ step: 'store', options }))
    } finally {
      release()
    }
  } finally {
    await thread.end()
  }
}

function counts(answer: Answer): Imported {
  if (answer === 'not empty') throw new StoreNotEmpty()
  if (answer === null) throw new Error('an import was not counted')
  return answer
}

class ImportThread {
  readonly #thread: SqliteThread<ImportMessage, ImportAnswer>
  readonly #asked: PromiseWithResolvers<Answer>[] = []
  #hasEnded = false

  constructor(path: string) {
    this.#thread = new SqliteThread('./sqlite-import-thread.ts', path, {
      answered: (answer) => this.#answered(answer),
      ended: (cause) => {
        this.#hasEnded = true
        const reason = cause instanceof Error ? cause.message : String(cause)
        const message = `the thread of an import died: ${reason}`
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
