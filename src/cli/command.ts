import { setImmediate } from 'node:timers/promises'
import { type Config, readConfig } from '../config.ts'
import { ConfigError, OperatorError } from '../errors.ts'
import { onStopSignal } from '../stop-signal.ts'
import { readSettingsFile } from './settings-file.ts'

/**
 * What others set in the environment: Windows and desktops USERNAME, conda and tcsh HOST. The file comes before it, and
 * without a password there, a USERNAME is not meant for the service.
 */
const SET_BY_OTHERS = ['USERNAME', 'HOST']

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
 * Runs the work of a command with the settings of the environment and of a file. An OperatorError ends it as in
 * `reportFaults`.
 */
export async function withSettings(
  what: string,
  args: Arguments,
  work: (config: Config) => Promise<void>,
): Promise<void> {
  await reportFaults(what, async () => {
    await work(loadConfig(settingsPath(args), args.values.settings !== undefined))
  })
}

/**
 * Runs the work of a command. An OperatorError ends it with exit code 1 and "Cannot …: message".
 * @param what the command does, in that message.
 */
export async function reportFaults(what: string, work: () => Promise<void>): Promise<void> {
  try {
    await work()
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

/**
 * Gives the signals that have come their turn of the event loop. Reading the books of SQLite takes none, nor does
 * writing them where standard output is a file.
 */
export async function throwIfInterrupted(signal: AbortSignal): Promise<void> {
  await setImmediate()
  signal.throwIfAborted()
}

/**
 * Reads the settings of the environment and of a file. Other code needs the variables of the file too, such as PGHOST.
 * @param isNeeded whether the file has to exist.
 */
function loadConfig(path: string, isNeeded: boolean): Config {
  const { variables, faults } = readSettingsFile(path, isNeeded)
  const environment = { ...process.env }
  if (environment.PASSWORD === undefined && environment.PASSWORD_FILE === undefined)
    delete environment.USERNAME
  for (const [name, value] of Object.entries(variables)) process.env[name] ??= value
  const ofFile = Object.entries(variables).filter(([name]) => SET_BY_OTHERS.includes(name))
  try {
    const config = readConfig({ ...variables, ...environment, ...Object.fromEntries(ofFile) })
    if (faults.length === 0) return config
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    faults.push(...error.faults)
  }
  throw new OperatorError(faults.join('\n  '))
}

/** @returns the path of the file of settings, which is `.env` in the working directory without --settings. */
export function settingsPath({ values }: Arguments): string {
  return typeof values.settings === 'string' ? values.settings : '.env'
}

/** A number of things in a message, such as "1 book" or "2 books". */
export function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
