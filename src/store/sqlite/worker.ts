import { parentPort, Worker, workerData } from 'node:worker_threads'
import { StoreUnavailable } from '../../catalogue/store.ts'
import { resources, type ThreadName } from '../../resources.ts'
import { asFailed, errorOf, type Failed } from './failure.ts'

/** MiB of V8's young generation. These threads make many objects and keep none. */
const YOUNG_GENERATION = 3

/** What a thread starts with. */
interface Start {
  readonly path: string
  /** Shared memory: the number of the request that was given up last. */
  readonly abandoned: Int32Array
}

/** A message to a thread. The answer has the same number. Null tells the thread to end. */
type Envelope<Message> = { readonly number: number; readonly message: Message } | null

type Reply<Answer> = { readonly number: number } & ({ readonly answer: Answer } | Failed)

/** The thread ended before it answered. */
export class WorkerDied extends StoreUnavailable {}

/** Runs a thread that works on a database file, and sends it requests. */
export class WorkerClient<Request, Answer> {
  readonly #name: string
  readonly #worker: Worker
  readonly #exit: Promise<void>
  readonly #pending = new Map<number, PromiseWithResolvers<Answer>>()
  readonly #abandoned = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  #lastNumber = 0
  #isAlive = true

  /**
   * @param name of the thread, for messages.
   * @param code of the thread, which calls `serveRequests`.
   * @param path of the database file.
   */
  constructor(name: string, code: ThreadName, path: string) {
    this.#name = name
    this.#worker = new Worker(resources.thread(code), {
      workerData: { path, abandoned: this.#abandoned } satisfies Start,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION },
    })
    let cause = new Error('it was terminated')
    this.#worker.on('message', (reply: Reply<Answer>) => this.#settle(reply))
    this.#worker.on('error', (error) => {
      cause = error instanceof Error ? error : new Error(String(error))
    })
    const exit = Promise.withResolvers<void>()
    this.#exit = exit.promise
    this.#worker.on('exit', () => {
      this.#isAlive = false
      const pending = [...this.#pending.values()]
      this.#pending.clear()
      for (const { reject } of pending) reject(this.#died(cause))
      exit.resolve()
    })
  }

  /** Whether the thread still answers. */
  get isAlive(): boolean {
    return this.#isAlive
  }

  /** @throws WorkerDied, or the error of the thread. */
  async request(message: Request): Promise<Answer> {
    if (!this.#isAlive) throw this.#died(undefined)
    const number = ++this.#lastNumber
    this.#worker.postMessage({ number, message } satisfies Envelope<Request>)
    const pending = Promise.withResolvers<Answer>()
    this.#pending.set(number, pending)
    return pending.promise
  }

  /** Tells the thread that nobody waits for the answer to the last request. */
  abandon(): void {
    Atomics.store(this.#abandoned, 0, this.#lastNumber)
  }

  /** Ends the thread once it has answered everything. */
  async end(): Promise<void> {
    this.#worker.postMessage(null)
    await this.#exit
  }

  #settle(reply: Reply<Answer>): void {
    const pending = this.#pending.get(reply.number)
    this.#pending.delete(reply.number)
    if ('error' in reply) pending?.reject(errorOf(reply))
    else pending?.resolve(reply.answer)
  }

  #died(cause: Error | undefined): WorkerDied {
    return new WorkerDied(`the ${this.#name} thread died${cause ? `: ${cause.message}` : ''}`, { cause })
  }
}

const start: Start | null = workerData

/** The path of the database file that a thread works on. */
export const databasePath = start?.path ?? ''

/** The number of the request that the thread answers, as the shared memory would have it: in 32 bits. */
let current = 0

/** Whether nobody waits for the answer any more, in a thread that answers one request at a time. */
export function isAbandoned(): boolean {
  return start !== null && Atomics.load(start.abandoned, 0) === current
}

interface Server<Request, Answer> {
  answer(request: Request): Answer | Promise<Answer>
  /** Called after a request was answered. */
  answered?(request: Request): void
  /** Called before the thread ends. */
  end(): void
}

/** Runs in the thread, and answers its requests as they come. */
export function serveRequests<Request, Answer>(server: Server<Request, Answer>): void {
  parentPort?.on('message', async (envelope: Envelope<Request>) => {
    if (envelope === null) {
      server.end()
      // The thread ends when it has nothing left to wait for. (Deno has no `close` here.)
      parentPort?.unref()
      return
    }
    const { number, message } = envelope
    current = number | 0
    const reply = (content: { answer: Answer } | Failed) => parentPort?.postMessage({ number, ...content })
    try {
      const answer = server.answer(message)
      reply({ answer: answer instanceof Promise ? await answer : answer })
    } catch (error) {
      reply(asFailed(error, databasePath))
    }
    server.answered?.(message)
  })
}
