import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { type Config, ConfigError, readConfig } from '../config.ts'
import { OperatorError } from '../errors.ts'
import { onStopSignal } from '../stop-signal.ts'

/** A command of the command line. */
export interface Command {
  /** Its arguments, for the help. */
  readonly usage: string
  readonly description: string
  /** How many arguments it takes beside its options. */
  readonly operands: 0 | 1
  readonly options: Readonly<Record<string, Option>>
  /** @throws UsageError for a value that an option cannot have. */
  run(args: Arguments): Promise<void>
}

interface Option {
  readonly type: 'string' | 'boolean'
  readonly description: string
}

export interface Arguments {
  readonly values: Readonly<Record<string, unknown>>
  /** Empty if the command takes none. */
  readonly operand: string
}

/**
 * Runs the work of a command with the settings. An OperatorError ends it with exit code 1 and "Cannot …: message".
 * @param what the command does, in that message.
 */
export async function withSettings(what: string, work: (config: Config) => Promise<void>): Promise<void> {
  try {
    await work(loadConfig())
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    process.stderr.write(`Cannot ${what}: ${error.message}\n`)
    process.exitCode = 1
  }
}

/**
 * @param outcome returns what became of the work, for the message "interrupted; …".
 * @returns a signal that SIGINT and SIGTERM abort. A second one ends the process at once, if it comes a second later.
 */
export function interruption(outcome: () => string): AbortSignal {
  const controller = new AbortController()
  onStopSignal(() => controller.abort(new OperatorError(`interrupted; ${outcome()}`)))
  return controller.signal
}

function loadConfig(): Config {
  try {
    return readConfig(readEnvironment())
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new OperatorError(error.faults.join('\n  '))
  }
}

/** Settings of the environment come before those of a `.env` file in the working directory. */
export function readEnvironment(): NodeJS.Dict<string> {
  return { ...readEnvFile(), ...process.env }
}

function readEnvFile(): NodeJS.Dict<string> {
  try {
    // Some editors begin a file with a byte order mark, which would become part of the first name.
    return parseEnv(readFileSync('.env', 'utf8').replace(/^\uFEFF/, ''))
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return {}
    throw new OperatorError(`the file .env cannot be read: ${message}`)
  }
}
