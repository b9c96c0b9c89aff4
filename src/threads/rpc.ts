import { MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { StoreNotEmpty, StoreNotOpened, StoreUnavailable } from '../catalogue/store.ts'
import { describeError, OperatorError } from '../errors.ts'

/** Functions that another thread may call. */
export type Callable<Functions> = { readonly [Name in keyof Functions]: (...args: never[]) => unknown }

type Functions = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>

/** What a MessagePort and a Worker have in common. */
interface Port {
  postMessage(message: unknown, transfer: MessagePort[]): void
  on(event: 'message', listener: (messages: readonly Message[]) => void): unknown
  on(event: 'close', listener: () => void): unknown
}

type Message =
  | readonly [type: 'call', id: number, name: string, args: readonly unknown[]]
  | readonly [type: 'result', id: number, result: unknown]
  | readonly [type: 'error', id: number, error: SentError]

interface Options {
  /** Converts an error that a function has thrown, before it is sent. */
  readonly errorOf?: (error: unknown) => unknown
  /** Makes the error of unanswered calls when the other side closes its port or dies. */
  readonly died?: () => Error
  /** Called when either side has closed its port. */
  readonly onClose?: () => void
}

/**
 * Calls functions of another thread, which may call functions of this one. Values are cloned; a MessagePort that is an
 * argument or a result is transferred. The calls of each side arrive in order.
 */
export class Rpc<Remote extends Callable<Remote>> {
  readonly #port: Port
  readonly #functions: Functions
  readonly #options: Options
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>()
  readonly #outbox: Message[] = []
  #lastId = 0
  #closed: Error | undefined

  /** @param functions that the other side may call. */
  constructor(port: Port, functions: object, options: Options = {}) {
    this.#port = port
    this.#functions = functions as Functions
    this.#options = options
    port.on('message', (messages) => this.#receive(messages))
    port.on('close', () => this.close())
  }

  /** Has no time limit. */
  call<Name extends keyof Remote & string>(
    name: Name,
    ...args: Parameters<Remote[Name]>
  ): Promise<Awaited<ReturnType<Remote[Name]>>> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    if (this.#closed !== undefined) reject(this.#closed)
    else {
      const id = ++this.#lastId
      this.#pending.set(id, { promise, resolve, reject })
      // Sent together with the other calls of this turn of the event loop: each message costs some microseconds.
      if (this.#outbox.length === 0) setImmediate(() => this.#flush())
      this.#outbox.push(['call', id, name, args])
    }
    return promise as Promise<Awaited<ReturnType<Remote[Name]>>>
  }

  /** Handles the messages that have arrived, during synchronous work that blocks the event loop. */
  receiveNow(): void {
    if (!(this.#port instanceof MessagePort)) return
    for (let next = receiveMessageOnPort(this.#port); next; next = receiveMessageOnPort(this.#port))
      this.#receive(next.message)
  }

  /** @param reason the error of all unanswered and later calls. */
  close(reason = this.#options.died?.() ?? new Error('the other thread has ended')): void {
    if (this.#closed !== undefined) return
    this.#closed = reason
    for (const { reject } of this.#pending.values()) reject(reason)
    this.#pending.clear()
    if (this.#port instanceof MessagePort) this.#port.close()
    this.#options.onClose?.()
  }

  #receive(messages: readonly Message[]): void {
    for (const message of messages) {
      const [type, id] = message
      if (type === 'call') {
        void this.#answer(message)
        continue
      }
      const pending = this.#settle(id)
      if (type === 'result') pending?.resolve(message[2])
      else pending?.reject(receivedError(message[2]))
    }
  }

  async #answer([, id, name, args]: Extract<Message, readonly ['call', ...unknown[]]>): Promise<void> {
    try {
      this.#reply(['result', id, await this.#functions[name]?.(...args)])
    } catch (error) {
      this.#reply(['error', id, sentError(this.#options.errorOf?.(error) ?? error)])
    }
  }

  #reply(message: Message): void {
    // Sent together with the results that are ready at the same time, but before the thread does anything else.
    if (this.#outbox.length === 0) process.nextTick(() => this.#flush())
    this.#outbox.push(message)
  }

  #flush(): void {
    const messages = this.#outbox.splice(0)
    try {
      this.#port.postMessage(messages, messages.flatMap(portsIn))
    } catch (error) {
      for (const [type, id] of messages) {
        if (type === 'call') this.#settle(id)?.reject(error)
        else this.#port.postMessage([['error', id, sentError(error)]], [])
      }
    }
  }

  #settle(id: number): PromiseWithResolvers<unknown> | undefined {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    return pending
  }
}

function portsIn(message: Message): MessagePort[] {
  const values = message[0] === 'call' ? message[3] : message[0] === 'result' ? [message[2]] : []
  return values.filter((value) => value instanceof MessagePort)
}

/** The classes of errors that callers distinguish. A clone of an error has neither its class nor its own fields. */
const CLASSES = [StoreUnavailable, StoreNotOpened, StoreNotEmpty, OperatorError]

interface SentError {
  readonly error: Error
  /** The index of its class in CLASSES, or −1. */
  readonly type: number
  readonly fields: Readonly<Record<string, unknown>>
}

function sentError(error: unknown): SentError {
  const { name, reason, nothingWritten } = Object(error)
  const type = CLASSES.findIndex((each) => error instanceof each)
  return { error: plain(error), type, fields: { name, reason, nothingWritten } }
}

/** A copy that can be cloned: other fields of an error may hold functions or connections. */
function plain(error: unknown): Error {
  const { message, stack, cause } = Object(error)
  const copy = new Error(message || describeError(error), cause === undefined ? {} : { cause: plain(cause) })
  return Object.assign(copy, { stack })
}

function receivedError({ error, type, fields }: SentError): Error {
  const known = CLASSES[type]
  return known === undefined ? error : Object.assign(Object.setPrototypeOf(error, known.prototype), fields)
}
