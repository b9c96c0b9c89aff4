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
  /** The `identityOf` the file. */
  readonly opened: string | undefined
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
export interface SqliteThreads {
  /**
   * @returns a port for an `Rpc` with the thread. It closes when the thread dies.
   * @throws StoreUnavailable if the thread cannot be started.
   */
  connect(kind: ThreadKind): Promise<MessagePort>
  /** Ends all threads. Close the stores that use them first: these wait for their writes. */
  close(): Promise<void>
}

/**
 * @param opened the `identityOf` the file.
 * @param database a connection to the file, closed last. The last one to close moves the write-ahead log into the file,
 * and the threads may have died by then.
 * @param report called with the reason when a thread has died.
 */
export function startThreads(
  path: string,
  opened: string | undefined,
  database: DatabaseSync,
  report: (message: string) => void,
): SqliteThreads {
  const threads = new Map<ThreadKind, Thread<Served>>()
  /** Threads that others were connected with. */
  const serving = new WeakSet<Thread<Served>>()
  let isClosing = false
  const parent: Parent = { connect, committed: (writes) => groupCommits.publish(writes) }

  function start(kind: ThreadKind): Thread<Served> {
    if (isClosing) throw new StoreUnavailable('the store is closed', { nothingWritten: true })
    const code = kind === 'writer' ? 'store/sqlite/writer-thread' : 'store/sqlite/query-thread'
    const data: Start = { path, opened, countsCommits: groupCommits.hasSubscribers }
    const thread = new Thread<Served>(kind, code, data, YOUNG_GENERATION, parent)
    void thread.death.then((error) => {
      // Otherwise, the caller that needs the thread gets the error.
      const isUnexpected = serving.has(thread) && !isClosing
      if (isUnexpected) report(`${describeError(error)}; the next request that needs it starts another`)
    })
    threads.set(kind, thread)
    return thread
  }

  async function connect(kind: ThreadKind): Promise<MessagePort> {
    const { port1, port2 } = new MessageChannel()
    const running = threads.get(kind)
    const thread = running?.isAlive ? running : start(kind)
    try {
      await thread.call('serve', port1)
      serving.add(thread)
      return port2
    } catch (error) {
      // The thread was about to die. Another is started.
      if (thread === running) return connect(kind)
      throw error
    }
  }

  // The writer also indexes what an earlier run has left.
  start('writer')
  return {
    connect,
    async close() {
      isClosing = true
      const ends = Array.from(threads.values(), async (thread) => {
        // A thread that has died has nothing to end.
        await thread.call('end').catch(() => {})
        await thread.terminate()
      })
      await Promise.all(ends)
      database.close()
    },
  }
}

/** Calls a thread of a database file. Connects at the first call, and again after the thread has died. */
export class ThreadClient<Functions extends Callable<Functions>> {
  readonly #connect: () => Promise<Rpc<Functions>>
  #rpc: Promise<Rpc<Functions>> | undefined

  constructor(kind: ThreadKind, connect: SqliteThreads['connect']) {
    const died = () => new StoreUnavailable(`the ${kind} thread died before it answered`)
    const onClose = () => {
      this.#rpc = undefined
    }
    this.#connect = async () => {
      try {
        return new Rpc<Functions>(await connect(kind), {}, { died, onClose })
      } catch (error) {
        onClose()
        throw error
      }
    }
  }

  /** @throws StoreUnavailable if the thread dies. What it has done is then unknown. */
  async call<Name extends keyof Functions & string>(
    name: Name,
    ...args: Parameters<Functions[Name]>
  ): Promise<Awaited<ReturnType<Functions[Name]>>> {
    this.#rpc ??= this.#connect()
    return await (await this.#rpc).call(name, ...args)
  }

  async close(): Promise<void> {
    const rpc = await this.#rpc?.catch(() => undefined)
    rpc?.close(new StoreUnavailable('the store is closed'))
  }
}
