import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'

/**
 * Reads a file that holds the value of a setting. A line end after it does not belong to it.
 * @throws Error that says what is wrong, without the path or the content.
 */
export function readSettingFile(path: string): string {
  refuseShellPath(path)
  let text: string
  try {
    text = readText(path)
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new Error(code === undefined ? `is a file that ${message}` : `cannot be read (${code})`)
  }
  text = text.replace(/\r?\n$/, '')
  if (text === '') throw new Error('is an empty file')
  return text
}

/**
 * @returns the content of a file, without the byte order mark with which some editors begin it.
 * @throws Error of the system, or one that says that it is not text in UTF-8.
 */
export function readText(path: string): string {
  const bytes = readFileSync(path)
  // Many different bytes would become one character, and a secret of them easy to guess. UTF-16 has zeros.
  if (!isUtf8(bytes) || bytes.includes(0)) throw new Error('is not text in UTF-8')
  return bytes.toString().replace(/^\uFEFF/, '')
}

/**
 * Refuses what only a shell replaces. Everybody else would look for a directory of that name, or make it.
 * @throws Error whose message continues the name of a setting.
 */
export function refuseShellPath(path: string | undefined): void {
  if (path !== undefined && /^\/?[~$]/.test(path))
    throw new Error('has a path that begins with ~ or $, which only a shell replaces: write the whole path')
}
