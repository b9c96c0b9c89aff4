import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { asServed } from '../../src/http/web-page/assets.ts'

/** As V8 reports it: ranges lie within each other, the outer one first. Offsets are in characters. */
interface Range {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

interface Report {
  readonly result: readonly {
    readonly url: string
    readonly functions: readonly { readonly ranges: Range[] }[]
  }[]
}

/**
 * Which code of src and web has run: by file, below the root, the ranges of each process that has loaded it; with `page:`
 * before its name, those of each page, which has got it without comments.
 */
export type Coverage = ReadonlyMap<string, readonly (readonly Range[])[]>

/** @param directory to which NODE_V8_COVERAGE and the pages of a browser have written. */
export function readCoverage(directory: string): Coverage {
  const coverage = new Map<string, Range[][]>()
  for (const path of globSync(join(directory, '*.json'))) {
    const text = readFileSync(path, 'utf8')
    // A process that was killed while it wrote has left a part.
    if (!text.endsWith('}')) continue
    const { result } = JSON.parse(text) as Report
    for (const { url, functions } of result) {
      const file = fileOf(url)
      if (file === undefined) continue
      const ranges = functions.flatMap((each) => each.ranges)
      coverage.set(file, [...(coverage.get(file) ?? []), ranges])
    }
  }
  return coverage
}

/** @param text the whole file. @param offset of a place in it, in characters. */
export function hasRun(coverage: Coverage, file: string, text: string, offset: number): boolean {
  const served = asServed(text.slice(0, offset)).length
  return isWithin(coverage.get(file), offset) || isWithin(coverage.get(`page:${basename(file)}`), served)
}

function isWithin(reports: readonly (readonly Range[])[] = [], offset: number): boolean {
  return reports.some((ranges) => {
    const around = ranges.filter(({ startOffset, endOffset }) => startOffset <= offset && offset < endOffset)
    const size = ({ startOffset, endOffset }: Range) => endOffset - startOffset
    // Of equal ones, the last is the inner one.
    const [innermost] = around.reverse().sort((a, b) => size(a) - size(b))
    return innermost !== undefined && innermost.count > 0
  })
}

/** The service says where the file is from which it has loaded code, a page which URL it has asked the service for. */
function fileOf(url: string): string | undefined {
  const [, inProject] = /^file:.*\/((?:src|web)\/(?!.*node_modules).*)$/.exec(url) ?? []
  if (inProject !== undefined) return inProject
  const [, name] = /^http:.*\/([\w-]+\.js)$/.exec(url) ?? []
  return name && `page:${name}`
}
