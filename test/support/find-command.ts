import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/**
 * Finds a command by its first name that is there.
 * @param elsewhere directories to look in after those of PATH.
 */
export function findCommand(names: readonly string[], elsewhere: readonly string[]): string | undefined {
  const directories = [...(process.env.PATH ?? '').split(delimiter), ...elsewhere]
  return names
    .flatMap((name) =>
      directories.filter((directory) => directory !== '').map((directory) => join(directory, name)),
    )
    .find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
