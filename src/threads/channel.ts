import { type BirpcReturn, createBirpc } from 'birpc'
import { StoreNotEmpty, StoreNotOpened, StoreUnavailable } from '../catalogue/store.ts'
import { OperatorError } from '../errors.ts'

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
  const error = cause instanceof Error ? cause : new Error(String(cause))
  if (error instanceof StoreUnavailable) {
    const { message, cause, reason, nothingWritten } = error
    return { kind: 'unavailable', message, options: { cause, reason, nothingWritten } }
  }
  if (error instanceof StoreNotOpened) return { kind: 'not opened', error }
  if (error instanceof OperatorError) return { kind: 'operator', error }
  return { kind: error instanceof StoreNotEmpty ? 'not empty' : 'other', error }
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
