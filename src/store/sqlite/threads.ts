import { channel } from 'node:diagnostics_channel'
import type { DatabaseSync } from 'node:sqlite'
import { MessageChannel, type MessagePort } from 'node:worker_threads'
import { StoreUnavailable } from '../../catalogue/store.ts'
import { describeError } from '../../errors.ts'
import { type Callable, Rpc } from '../../threads/rpc.ts'
import { Thread } from '../../threads/thread.ts'

/** The threads that work on a database file, one of each kind: the writer, one for pages, and one for searches. */
export type ThreadKind = 'writer' | 'pages' | 'searches'

/** MiB of V8's young generation. These threads make many objects and keep none. */
export const YOUNG_GENERATION = 3

/** Publishes how many writes each commit has. */
const groupCommits = channel('book-catalogue.group-commit')

export interface Start {
  readonly path: string
  /** Whether the writer reports how many writes each commit has. */
  readonly countsCommits: boolean
}

/** The functions of a thread, for the thread that has started it. */
export interface Served {
  /** Lets another thread call the thread's other functions through this port. */
  serve(port: MessagePort): void
  /** Returns when the thread has done what it was asked for and has closed the file. */
  end(): void | Promise<void>
}

/** The functions of the thread that starts the others, for them. */
export interface Parent {
  connect(kind: ThreadKind): Promise<MessagePort>
  committed(writes: number): void
}

/** Counts the responses of all threads, in shared memory. A read must be at least as new as every earlier response. */
export class ResponseCount {
  /** To share the count with another thread. */
  readonly memory: SharedArrayBuffer
  readonly #count: Int32Array

  constructor(memory = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)) {
    this.memory = memory
    this.#count = new Int32Array(memory)
  }

  get(): number {
    return Atomics.load(this.#count, 0)
  }

  /** Call it before a write is answered, so that every later read sees the write. */
  add(): void {
    Atomics.add(this.#count, 0, 1)
  }
}

/**
 * Starts the threads of a database file: the writer at once, the others when they are needed. A thread that has died is
 * replaced when it is needed again.
 */
export class SqliteThreads {
  readonly #path: string
  readonly #database: DatabaseSync
  readonly #report: (message: string) => void
  readonly #threads = new Map<ThreadKind, Thread<Served>>()
  /** Threads that others were connected with. */
  readonly #serving = new WeakSet<Thread<Served>>()
  #isClosing = false

  /**
   * @param database a connection to the file, closed last. The last one to close moves the write-ahead log into the
   * file, and the threads may have died by then.
   * @param report called with the reason when a thread has died.
   */
  constructor(path: string, database: DatabaseSync, report: (message: string) => void) {
    this.#path = path
    this.#database = database
    this.#report = report
    // The writer also indexes what an earlier run has left.
    this.#start('writer')
  }

  /**
   * @returns a port for an `Rpc` with the thread. It closes when the thread dies.
   * @throws StoreUnavailable if the thread cannot be started.
   */
  async connect(kind: ThreadKind): Promise<MessagePort> {
    const { port1, port2 } = new MessageChannel()
    const running = this.#threads.get(kind)
    const thread = running?.isAlive ? running : this.#start(kind)
    try {
      await thread.call('serve', port1)
      this.#serving.add(thread)
      return port2
    } catch (error) {
      // The thread was about to die. Another is started.
      if (thread === running) return this.connect(kind)
      throw error
    }
  }

  /** Ends all threads. Close the stores that use them first: these wait for their writes. */
  async close(): Promise<void> {
    this.#isClosing = true
    const ends = Array.from(this.#threads.values(), async (thread) => {
      // A thread that has died has nothing to end.
      await thread.call('end').catch(() => {})
      await thread.terminate()
    })
    await Promise.all(ends)
    this.#database.close()
  }

  #start(kind: ThreadKind): Thread<Served> {
    if (this.#isClosing) throw new StoreUnavailable('the store is closed', { nothingWritten: true })
    const code = kind === 'writer' ? 'store/sqlite/writer-thread' : 'store/sqlite/query-thread'
    const start: Start = { path: this.#path, countsCommits: groupCommits.hasSubscribers }
    const parent: Parent = {
      connect: (kind) => this.connect(kind),
      committed: (writes) => groupCommits.publish(writes),
    }
    const thread = new Thread<Served>(kind, code, start, YOUNG_GENERATION, parent)
    void thread.death.then((error) => {
      // Otherwise, the caller that needs the thread gets the error.
      const isUnexpected = this.#serving.has(thread) && !this.#isClosing
      if (isUnexpected) this.#report(`${describeError(error)}; the next request that needs it starts another`)
    })
    this.#threads.set(kind, thread)
    return thread
  }
}

/** Calls a thread of a database file. Connects at the first call, and again after the thread has died. */
export class ThreadClient<Functions extends Callable<Functions>> {
  readonly #kind: ThreadKind
  readonly #connect: (kind: ThreadKind) => Promise<MessagePort>
  #rpc: Promise<Rpc<Functions>> | undefined

  constructor(kind: ThreadKind, connect: (kind: ThreadKind) => Promise<MessagePort>) {
    this.#kind = kind
    this.#connect = connect
  }

  /** @throws StoreUnavailable if the thread dies. What it has done is then unknown. */
  async call<Name extends keyof Functions & string>(
    name: Name,
    ...args: Parameters<Functions[Name]>
  ): Promise<Awaited<ReturnType<Functions[Name]>>> {
    this.#rpc ??= this.#connected()
    return await (await this.#rpc).call(name, ...args)
  }

  async close(): Promise<void> {
    const rpc = await this.#rpc?.catch(() => undefined)
    rpc?.close(new StoreUnavailable('the store is closed'))
  }

  async #connected(): Promise<Rpc<Functions>> {
    const forget = () => {
      this.#rpc = undefined
    }
    try {
      const died = () => new StoreUnavailable(`the ${this.#kind} thread died before it answered`)
      return new Rpc<Functions>(await this.#connect(this.#kind), {}, { died, onClose: forget })
    } catch (error) {
      forget()
      throw error
    }
  }
}
