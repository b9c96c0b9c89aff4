import { Worker } from 'node:worker_threads'

interface Handlers<Answer> {
  answered(answer: Answer): void
  /** @param cause why the thread ended, also when it was asked to. */
  ended(cause: Error): void
}

/** MiB for objects that are young in such a thread, which makes many and keeps none. */
const YOUNG_GENERATION = 3

/** A thread that works on a database file. It gets messages, each of which it answers in turn, until null ends it. */
export class SqliteThread<Message, Answer> {
  readonly #worker: Worker
  readonly #exit: Promise<void>

  /**
   * @param file of its code, beside this one.
   * @param path of the database file.
   */
  constructor(file: `./${string}.ts`, path: string, { answered, ended }: Handlers<Answer>) {
    this.#worker = new Worker(new URL(file, import.meta.url), {
      workerData: path,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION },
    })
    let cause = new Error('it was terminated')
    this.#worker.on('message', answered)
    this.#worker.on('error', (error) => {
      cause = error instanceof Error ? error : new Error(String(error))
    })
    const exit = Promise.withResolvers<void>()
    this.#exit = exit.promise
    this.#worker.on('exit', () => {
      ended(cause)
      exit.resolve()
    })
  }

  post(message: Message): void {
    this.#worker.postMessage(message)
  }

  /** Ends the thread when it has answered everything. */
  async end(): Promise<void> {
    this.#worker.postMessage(null)
    await this.#exit
  }
}
