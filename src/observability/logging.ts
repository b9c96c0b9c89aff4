import { constants, openSync, writeSync } from 'node:fs'
import { type Logger, pino } from 'pino'
import { StoreUnavailable } from '../catalogue/store.ts'
import { describeError } from '../errors.ts'

const STANDARD_OUTPUT = process.stdout.isTTY ? openTerminal() : 1

/** The most characters of an SQL statement in a log line. mysql2 adds it to its errors with the texts of all books. */
const MAX_SQL = 1000

/** What is left of a text that a full pipe took only in part. */
let rest: Uint8Array = new Uint8Array()

/**
 * Standard output. A text that cannot be written, because the disk is full or nobody reads, is lost: there is no other
 * place to report it. A line that was begun is finished before the next one. pino's own stream would retry for ever and
 * block the process.
 */
export const output = {
  write(text: string): void {
    const bytes = Buffer.concat([rest, Buffer.from(text)])
    const written = writeNow(bytes)
    const end = written > rest.length ? bytes.length : rest.length
    rest = bytes.subarray(written, end)
  },
}

/** Takes whole log lines. */
export interface LogStream {
  write(line: string): void
}

interface Context {
  readonly context?: object
}

/** @returns a logger that adds the context to each line. For each request, a child of pino takes longer. */
export function withContext<Log extends object>(logger: Log, context: object): Log {
  return Object.assign(Object.create(logger), { context })
}

/** @param level the least severe level that is logged. */
export function createLogger(level: string, stream: LogStream): Logger {
  const mixin = (_line: object, _level: number, logger: object) => ({ ...(logger as Context).context })
  return pino<never>({ level, mixin, serializers: { err: serializeError } }, stream)
}

/** Writes each log line as a JSON object, or in a terminal as text for people. */
export async function logStream(): Promise<LogStream> {
  const format = process.stdout.isTTY ? await prettyFormat() : String
  return { write: (line) => output.write(escapeControls(format(line))) }
}

async function prettyFormat(): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty')
  return prettyFactory({ colorize: true, translateTime: 'SYS:HH:MM:ss.l', ignore: 'pid,hostname' })
}

/** The type that Fastify declares for an error in a log line. */
interface LoggedError {
  type: string
  message: string
  stack: string
  [property: string]: unknown
}

/**
 * The message includes those of the causes, each once. If the store is unavailable for a known reason, no stack helps.
 * If the reason is unknown, only the stack of the cause does.
 */
export function serializeError(error: Error): LoggedError {
  const message = describeError(error)
  if (!(error instanceof StoreUnavailable)) {
    const { sql } = error as { readonly sql?: string }
    return {
      ...error,
      sql: sql?.slice(0, MAX_SQL),
      type: error.constructor.name,
      message,
      stack: stackOf(error),
    }
  }
  const { name, reason, cause } = error
  const stack = reason === 'other' && cause instanceof Error ? stackOf(cause) : undefined
  // JSON leaves out an undefined stack.
  return { type: name, reason, message, stack: stack as string }
}

function stackOf({ stack = '', cause }: Error): string {
  return cause instanceof Error ? `${stack}\ncaused by: ${stackOf(cause)}` : stack
}

/** Escapes DEL and C1 controls. JSON does not, but some terminals take C1 controls for escape sequences. */
function escapeControls(text: string): string {
  return text.replaceAll(/[\u007f-\u009f]/g, (control) => `\\u00${control.charCodeAt(0).toString(16)}`)
}

/**
 * Writing to a terminal blocks the process while its user has stopped it with Ctrl-S, or nobody reads it.
 * @returns the terminal of standard output, opened so that it does not block; on other systems, standard output.
 */
function openTerminal(): number {
  const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants
  try {
    return openSync('/proc/self/fd/1', O_WRONLY | O_NONBLOCK | O_NOCTTY)
  } catch {
    return 1
  }
}

/** Writes as much as can be written now. @returns the number of bytes. */
function writeNow(bytes: Uint8Array): number {
  try {
    return writeSync(STANDARD_OUTPUT, bytes)
  } catch {
    return 0
  }
}
