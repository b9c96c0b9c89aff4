import { type BirpcReturn, createBirpc } from 'birpc'
import { StoreNotEmpty, StoreNotOpened, StoreUnavailable } from '../catalogue/store.ts'
import { describeError, OperatorError } from '../errors.ts'

/** An error in a form that can be sent to another thread. A copy of an error would lose its class and its fields. */
type SentError =
  | { readonly kind: 'unavailable'; readonly message: string; readonly options: UnavailableOptions }
  | { readonly kind: 'not opened' | 'not empty' | 'operator' | 'other'; readonly error: Error }

type UnavailableOptions = NonNullable<ConstructorParameters<typeof StoreUnavailable>[1]>

/** Either end of a channel to a thread. */
interface Port {
  postMessage(message: unknown): void
  on(event: 'message', receive: (message: unknown) => void): unknown
}

/** A call or an answer; an answer may have an error. */
interface Message {
  readonly e?: unknown
}

/**
 * Lets two threads call functions of each other. Values are copied, and the calls of each side arrive in their order.
 * @param functions that the other side may call.
 * @returns the functions of the other side. `$close` rejects the calls that wait for an answer.
 */
export function connect<Remote extends object, Local extends object>(
  port: Port,
  functions: Local,
): BirpcReturn<Remote, Local> {
  return createBirpc<Remote, Local>(functions, {
    post: (message) => port.postMessage(message),
    on: (receive) => port.on('message', receive),
    serialize: (message: Message) => ('e' in message ? { ...message, e: sent(message.e) } : message),
    deserialize: (message: Message) =>
      'e' in message ? { ...message, e: received(message.e as SentError) } : message,
    // Every operation has a deadline of its own.
    timeout: -1,
  })
}

function sent(cause: unknown): SentError {
  const error = plain(cause)
  if (cause instanceof StoreUnavailable) {
    const { message, reason, nothingWritten } = cause
    return { kind: 'unavailable', message, options: { cause: error.cause, reason, nothingWritten } }
  }
  if (cause instanceof StoreNotOpened) return { kind: 'not opened', error }
  if (cause instanceof OperatorError) return { kind: 'operator', error }
  return { kind: cause instanceof StoreNotEmpty ? 'not empty' : 'other', error }
}

/** A copy that can be cloned. Other fields of an error may hold functions or connections. */
function plain(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error))
  const { message, stack, cause } = error
  const copy = new Error(message || describeError(error), cause === undefined ? {} : { cause: plain(cause) })
  return Object.assign(copy, { stack })
}

function received(sent: SentError): Error {
  switch (sent.kind) {
    case 'unavailable':
      return new StoreUnavailable(sent.message, sent.options)
    case 'not opened':
      return new StoreNotOpened(sent.error.message, { cause: sent.error.cause })
    case 'not empty':
      return new StoreNotEmpty()
    case 'operator':
      return new OperatorError(sent.error.message)
    case 'other':
      return sent.error
  }
}
