import { setImmediate } from 'node:timers/promises'
import { type Config, readConfig } from '../config.ts'
import { ConfigError, OperatorError } from '../errors.ts'
import { onStopSignal } from '../stop-signal.ts'
import { readSettingsFile } from './settings-file.ts'

/**
 * Settings that other programs also set in the environment: Windows and desktops set USERNAME, conda and tcsh set HOST.
 * The file takes precedence for them, and USERNAME from the environment counts only with a password from there.
 * Otherwise, the service could fail to start, or refuse the login of its own file.
 */
const SET_BY_OTHERS = ['USERNAME', 'HOST']

export interface Command {
  /** Such as `backup FILE`, for the help. */
  readonly usage: string
  readonly description: string
  readonly operands: 0 | 1
  readonly options: Readonly<Record<string, Option>>
  /** @throws UsageError for an invalid value of an option. */
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

/** Passes the settings of the environment and the file to `work`. Errors are reported as by `reportFaults`. */
export async function withSettings(
  what: string,
  args: Arguments,
  work: (config: Config) => Promise<void>,
): Promise<void> {
  await reportFaults(what, async () => {
    await work(loadConfig(settingsPath(args), args.values.settings !== undefined))
  })
}

/** If `work` throws an OperatorError, prints "Cannot <what>: <message>" and sets exit code 1. */
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
 * @param outcome describes the state of the work, for the message "interrupted; …".
 * @returns a signal that SIGINT, SIGTERM or SIGHUP aborts. Another one, more than a second later, ends the process at once.
 */
export function interruption(outcome: () => string): AbortSignal {
  const controller = new AbortController()
  onStopSignal(() => controller.abort(interrupted(outcome())))
  return controller.signal
}

export const interrupted = (outcome: string) => new OperatorError(`interrupted; ${outcome}`)

/**
 * Waits for a turn of the event loop, in which pending signals are delivered. Reading books from SQLite takes no turn,
 * nor does writing to standard output that is a file, so export and copy could otherwise not be interrupted.
 */
export async function throwIfInterrupted(signal: AbortSignal): Promise<void> {
  await setImmediate()
  signal.throwIfAborted()
}

/** Also adds the variables of the file to `process.env`, because other code reads some of them, such as PGHOST. */
function loadConfig(path: string, isNeeded: boolean): Config {
  const { variables, faults } = readSettingsFile(path, isNeeded)
  const environment = { ...process.env }
  if (environment.PASSWORD === undefined && environment.PASSWORD_FILE === undefined)
    delete environment.USERNAME
  for (const [name, value] of Object.entries(variables)) process.env[name] ??= value
  const fromFile = Object.entries(variables).filter(([name]) => SET_BY_OTHERS.includes(name))
  try {
    const config = readConfig({ ...variables, ...environment, ...Object.fromEntries(fromFile) })
    if (faults.length === 0) return config
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    faults.push(...error.faults)
  }
  throw new OperatorError(faults.join('\n  '))
}

/** The path of the settings file, by default `.env` in the working directory. */
export function settingsPath({ values }: Arguments): string {
  return typeof values.settings === 'string' ? values.settings : '.env'
}

/** Such as "1 book" or "2 books". */
export function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
