import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'

/**
 * Reads the value of a setting from a file, without a line end after it.
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
 * @returns the content of a file without a byte order mark, which some editors write.
 * @throws the error of the system, or an Error that says that the content is not text in UTF-8.
 */
export function readText(path: string): string {
  const bytes = readFileSync(path)
  // Every invalid byte would become the same character, and such a secret easy to guess. UTF-16 has zero bytes.
  if (!isUtf8(bytes) || bytes.includes(0)) throw new Error('is not text in UTF-8')
  return bytes.toString().replace(/^\uFEFF/, '')
}

/**
 * Refuses a path that only a shell expands, because a directory of that name would be read or created instead.
 * @throws Error whose message continues the name of a setting.
 */
export function refuseShellPath(path: string | undefined): void {
  if (path !== undefined && /^\/?[~$]/.test(path))
    throw new Error('has a path that begins with ~ or $, which only a shell replaces: write the whole path')
}
