import { parseEnv } from 'node:util'
import { OperatorError } from '../errors.ts'
import { readText } from '../setting-file.ts'
import { isForeign, isSetting, nearestSetting } from '../settings.ts'

/** A line, or several if a quoted value continues. `parseEnv` reads the value, but does not report lines it skips. */
const LINE =
  /^(?:[^\S\n]*(?:export[^\S\n]+)?(?<name>[^=\n#]*?)[^\S\n]*=[^\S\n]*(?:(?<quote>["'`])[\s\S]*?\k<quote>)?(?<rest>[^\n]*)|(?<other>[^\n]*))$/gm

/** A later line of a value that looks like a setting. A line of a key may begin with PG, but has other letters too. */
const ASSIGNMENT = /\n\s*(?:export\s+)?([A-Z_]+)\s*=/g

/** Anything else may be part of a secret: no name of a setting has a digit or is longer. */
const CAN_BE_SHOWN = /^[a-z_]{1,30}$/i

export interface SettingsFile {
  readonly variables: Readonly<Record<string, string>>
  /** A message for each faulty line. If it were ignored, a misspelt DB_URL would start a new, empty catalogue. */
  readonly faults: string[]
}

/** @throws OperatorError if the file cannot be read, or `isNeeded` and it does not exist. */
export function readSettingsFile(path: string, isNeeded: boolean): SettingsFile {
  const variables: Record<string, string> = {}
  const faults: string[] = []
  for (const { 0: line, index, input, groups = {} } of textOf(path, isNeeded).matchAll(LINE)) {
    const { name = '', quote, rest = '', other } = groups
    if (/^\s*(?:#|$)/.test(other ?? line)) continue
    const fault = name === '' ? notASetting(line) : faultOf(name, line, quote !== undefined, rest)
    if (fault !== undefined) faults.push(`${path} line ${input.slice(0, index).split('\n').length}: ${fault}`)
    else variables[name] = Object.values(parseEnv(line))[0] ?? ''
  }
  return { variables, faults }
}

function textOf(path: string, isNeeded: boolean): string {
  try {
    return readText(path).replaceAll(/\r\n?/g, '\n')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && !isNeeded) return ''
    const remedy = code === undefined ? '; save it in UTF-8 (PowerShell: | Out-File -Encoding utf8)' : ''
    throw new OperatorError(`the file ${path} ${code ? 'cannot be read: ' : ''}${message}${remedy}`)
  }
}

function notASetting(line: string): string {
  const [word = ''] = /[a-z_]+/i.exec(line) ?? []
  return `no NAME=value; the nearest setting is ${nearestSetting(word)}`
}

function faultOf(name: string, line: string, isQuoted: boolean, rest: string): string | undefined {
  const shown = CAN_BE_SHOWN.test(name) ? name : 'this name'
  const enclosed = Array.from(line.matchAll(ASSIGNMENT), ([, assigned = '']) => assigned).find(isSetting)
  if (enclosed !== undefined)
    return `${shown} has no closing quotation mark before the line of ${enclosed}; add it`
  if (isForeign(name)) return undefined
  if (!isSetting(name)) return `${shown} is not a setting; the nearest one is ${nearestSetting(name)}`
  if (isQuoted) return /^\s*(?:#|$)/.test(rest) ? undefined : `${name} goes on after its quotation marks`
  if (/^["'`]/.test(rest)) return `${name} has no closing quotation mark`
  return /\S#/.test(rest) ? `${name} is cut by its #; put the value into quotation marks` : undefined
}
