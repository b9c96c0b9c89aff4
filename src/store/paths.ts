/**
 * Refuses what only a shell replaces. Everybody else would look for a directory of that name, or make it.
 * @throws Error whose message continues the name of a setting.
 */
export function refuseShellPath(path: string | undefined): void {
  if (path !== undefined && /^\/?[~$]/.test(path))
    throw new Error('has a path that begins with ~ or $, which only a shell replaces: write the whole path')
}
