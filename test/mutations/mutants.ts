import { globSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')

/** Each mistake by its name: what it replaces in the code, and what by. */
const OPERATORS: Record<string, [RegExp, string | ((found: string) => string)]> = {
  'less-or-equal': [/ <= /g, ' < '],
  less: [/ < /g, ' <= '],
  'greater-or-equal': [/ >= /g, ' > '],
  greater: [/ > /g, ' >= '],
  equal: [/ === /g, ' !== '],
  unequal: [/ !== /g, ' === '],
  and: [/ && /g, ' || '],
  or: [/ \|\| /g, ' && '],
  not: [/(?<![\w!])!(?=[\w(#])/g, ''],
  'one-off': [/ [+-] 1\b(?![\w.])/g, ''],
  plus: [/ \+ /g, ' - '],
  minus: [/ - /g, ' + '],
  true: [/\btrue\b/g, 'false'],
  false: [/\bfalse\b/g, 'true'],
  fallback: [/ \?\? (?:[\w.#]+|'_*'|\[\])(?![\w(.[])/g, ''],
  number: [/(?<![\w.#])\d[\d_]*(?![\w.])/g, otherNumber],
  await: [/(?<!for )\bawait (?!using\b)/g, ''],
  return: [/\breturn (?=[\w#(!])(?!new |await |undefined$)/gm, 'return; '],
  'choose-first': [/ \? /g, ' || true ? '],
  'choose-second': [/ \? /g, ' && false ? '],
  leave: [/\b(?:break|continue)\b/g, ''],
  call: [/^ *(?:await |void )?[\w.#?]+\(.*\)$/gm, ';'],
  assignment: [/^ *[\w#]+(?:[.[][\w.#\]]+)? (?:[+-]|\|\||\?\?)?= .*[^({[,]$/gm, ';'],
  'if-never': [/\b(?:if|while) \(/g, 'false'],
  'if-always': [/\bif \(/g, 'true'],
  minimum: [/\bMath\.min\b/g, 'Math.max'],
  maximum: [/\bMath\.max\b/g, 'Math.min'],
  some: [/\.some\(/g, '.every('],
  every: [/\.every\(/g, '.some('],
}

/** Comments, and texts and regular expressions, in which nothing is replaced. */
const COMMENT = /\/\*[\s\S]*?\*\/|\/\/.*/
const TEXT = /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|\$\{(?:[^{}`]|`[^`]*`|\{[^{}]*\})*\}|[^`\\])*`/
const PATTERN = /(?<=[(=,:?&|![]\s*|return )\/(?:\\.|\[(?:\\.|[^\]\\])+\]|[^/\\\n[])+\/\w*/
const SKIPPED = new RegExp([COMMENT, TEXT, PATTERN].map(({ source }) => source).join('|'), 'g')

/** A file with a mistake in it. */
export interface Mutant {
  /** What `--only` takes. */
  readonly id: string
  readonly file: string
  /** Its name in OPERATORS, with a number if it can be put into several places of the line. */
  readonly operator: string
  readonly line: string
  /** Where it begins, in characters of the file. */
  readonly offset: number
  readonly mutated: string
}

/** A row of the table of tests in CONTRIBUTING.md. */
interface TestRow {
  /** A file, or what the paths of files begin with. */
  readonly path: string
  /** Files and folders of tests. */
  readonly tests: readonly string[]
  readonly engines: string
}

export function testRows(): TestRow[] {
  const rows = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8').matchAll(
    /^\| (`(?:src|web)\/.*?) \| (.*?) \| (.*?) \|/gm,
  )
  const named = (cell: string) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, name = '']) => name)
  return Array.from(rows).flatMap(([, paths = '', tests = '', engines = '']) =>
    named(paths).map((path) => ({ path, tests: named(tests), engines })),
  )
}

/** All mistakes that can be put into the project. */
export function allMutants(): Mutant[] {
  return globSync(['src/**/*.{ts,js}', 'web/**/*.js'], { cwd: ROOT })
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
    .flatMap(mutantsOf)
}

/** All mistakes that can be put into a file. @param file its path below the root, with slashes. */
export function mutantsOf(file: string): Mutant[] {
  const source = readFileSync(join(ROOT, file), 'utf8')
  // Every character stays where it is, so a place in the code is the same place in the source.
  const code = stripTypeScriptTypes(source)
    .replace(SKIPPED, (text) => text[0] + text.slice(1, -1).replaceAll(/[^\n]/g, '_') + text.at(-1))
    .replaceAll(/^import .*$/gm, (text) => ' '.repeat(text.length))
  const ids = new Map<string, number>()
  return Object.entries(OPERATORS).flatMap(([operator, [pattern, replacement]]) =>
    Array.from(code.matchAll(pattern), ({ 0: found, index }) => {
      const isCondition = operator.startsWith('if-')
      const begin = isCondition ? index + found.length : index
      const end = isCondition ? closing(code, begin) : index + found.length
      const by = typeof replacement === 'string' ? replacement : replacement(found)
      const number = source.slice(0, begin + found.search(/\S/)).split('\n').length
      const place = `${file}:${number}:${operator}`
      const count = (ids.get(place) ?? 0) + 1
      ids.set(place, count)
      return {
        id: count === 1 ? place : `${place}-${count}`,
        file,
        operator: count === 1 ? operator : `${operator}-${count}`,
        line: source.split('\n')[number - 1]?.trim() ?? '',
        offset: begin,
        mutated: source.slice(0, begin) + by + source.slice(end),
      }
    }),
  )
}

/**
 * Finds the mistakes that change nothing that can be observed. Each entry of the list has the file and the operators, as
 * in the ids; the line; and the reason.
 * @returns those that have an entry. @throws Error for an entry whose line or operator is no longer there.
 */
export function unobservableOf(candidates: readonly Mutant[]): ReadonlySet<Mutant> {
  const list = readFileSync(join(import.meta.dirname, 'unobservable.txt'), 'utf8')
  const entries = list.matchAll(/^(\S+) (.*)\n {2}(.*)\n {2}.*\n/gm)
  const found = Array.from(entries).flatMap(([, file, operators = '', line]) =>
    operators.split(' ').flatMap((operator) => {
      const mutants = candidates.filter(
        (mutant) => mutant.file === file && mutant.line === line && mutant.operator === operator,
      )
      if (mutants.length === 0)
        throw new Error(`test/mutations/unobservable.txt: no ${operator} in ${file}: ${line}`)
      return mutants
    }),
  )
  return new Set(found)
}

/** Where the parenthesis ends that was opened before this place. */
function closing(code: string, begin: number): number {
  let depth = 1
  let end = begin
  for (; depth > 0; end++) depth += code[end] === '(' ? 1 : code[end] === ')' ? -1 : 0
  return end - 1
}

/** Large numbers are bounds and times, small ones positions and counts. */
function otherNumber(text: string): string {
  const number = Number(text.replaceAll('_', ''))
  return String(number > 16 ? 2 * number : number === 0 ? 1 : number - 1)
}
