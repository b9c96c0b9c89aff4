import { errorOf } from './sqlite-failure.ts'
import type { ReaderAnswer, ReaderMessage } from './sqlite-reader-thread.ts'
import { SqliteThread } from './sqlite-thread.ts'
import { StoreUnavailable } from './store.ts'

/** Questions that may wait; more are turned away at once. */
const MAX_WAITING = 1000

type Answer = Exclude<ReaderAnswer, { error: Error }>

type Thread = SqliteThread<ReaderMessage, ReaderAnswer>

interface Pending extends PromiseWithResolvers<Answer> {
  readonly message: ReaderMessage
}

/** Asks the thread that answers queries, one question at a time. The thread is started with the first. */
export class SqliteReader {
  readonly #path: string
  #thread: Thread | undefined
  readonly #waiting: Pending[] = []
  #asked: Pending | undefined

  /** @param path of a database file that has its schema. */
  constructor(path: string) {
    this.#path = path
  }

  /** @throws StoreUnavailable also at once, when too much is waiting already. */
  async ask(message: ReaderMessage): Promise<Answer> {
    if (this.#waiting.length >= MAX_WAITING) throw new StoreUnavailable('too many queries are waiting')
    const pending = { message, ...Promise.withResolvers<Answer>() }
    this.#waiting.push(pending)
    this.#askNext()
    return await pending.promise
  }

  load() {
    return { queries_waiting: this.#waiting.length }
  }

  /** Ends the thread, once it has answered what it was asked; what waits fails. */
  async close(): Promise<void> {
    for (const { reject } of this.#waiting.splice(0)) reject(new StoreUnavailable('the store is closed'))
    await this.#thread?.end()
  }

  #askNext(): void {
    if (this.#asked !== undefined) return
    this.#asked = this.#waiting.shift()
    if (this.#asked === undefined) return
    this.#thread ??= this.#start()
    this.#thread.post(this.#asked.message)
  }

  #answered(answer: ReaderAnswer): void {
    const asked = this.#asked
    this.#asked = undefined
    this.#askNext()
    if (typeof answer === 'object' && 'error' in answer) asked?.reject(errorOf(answer))
    else asked?.resolve(answer)
  }

  #start(): Thread {
    return new SqliteThread('./sqlite-reader-thread.ts', this.#path, {
      answered: (answer) => this.#answered(answer),
      ended: (cause) => {
        this.#thread = undefined
        const asked = this.#asked
        this.#asked = undefined
        asked?.reject(new StoreUnavailable('the thread that answers queries died', { cause }))
        this.#askNext()
      },
    })
  }
}
