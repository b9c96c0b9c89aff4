import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** A program that some tests run. */
export interface Program {
  readonly file: string
  /** Why these tests are skipped, or false. */
  readonly missing: string | false
}

/** @param variable where this is `required`, tests fail without the program instead of being skipped. */
export function findProgram(name: string, variable = 'DEPLOY'): Program {
  const file = findCommand([name], ['/usr/sbin', '/usr/local/sbin', '/opt/homebrew/bin'])
  const isMissing = file === undefined && process.env[variable] !== 'required'
  return { file: file ?? name, missing: isMissing && `no ${name}: install it` }
}

/**
 * Finds a command by its first name that is there.
 * @param elsewhere directories to look in after those of PATH.
 */
export function findCommand(names: readonly string[], elsewhere: readonly string[] = []): string | undefined {
  const directories = [...(process.env.PATH ?? '').split(delimiter).filter(Boolean), ...elsewhere]
  return names.flatMap((name) => directories.map((directory) => join(directory, name))).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
