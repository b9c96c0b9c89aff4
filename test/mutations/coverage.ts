import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

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

/** Which code of src and web has run: by file, below the root, the ranges of each process that has loaded it. */
export type Coverage = ReadonlyMap<string, readonly (readonly Range[])[]>

/** @param directory to which NODE_V8_COVERAGE and the pages of a browser have written. */
export function readCoverage(directory: string): Coverage {
  const coverage = new Map<string, Range[][]>()
  for (const path of globSync(join(directory, '*.json'))) {
    const { result } = JSON.parse(readFileSync(path, 'utf8')) as Report
    for (const { url, functions } of result) {
      const file = fileOf(url)
      if (file === undefined) continue
      const ranges = functions.flatMap((each) => each.ranges)
      coverage.set(file, [...(coverage.get(file) ?? []), ranges])
    }
  }
  return coverage
}

export function hasRun(coverage: Coverage, file: string, offset: number): boolean {
  return (coverage.get(file) ?? []).some((ranges) => {
    const around = ranges.filter(({ startOffset, endOffset }) => startOffset <= offset && offset < endOffset)
    const size = ({ startOffset, endOffset }: Range) => endOffset - startOffset
    const innermost = around.reduce(
      (least, range) => (size(range) <= size(least) ? range : least),
      around[0] as Range,
    )
    return around.length > 0 && innermost.count > 0
  })
}

/** The service says where the file is from which it has loaded code, a page which URL it has asked the service for. */
function fileOf(url: string): string | undefined {
  const [, inProject] = /^file:.*\/((?:src|web)\/(?!.*node_modules).*)$/.exec(url) ?? []
  if (inProject !== undefined) return inProject
  const [, name] = /^http:.*\/([\w-]+\.js)$/.exec(url) ?? []
  return name === 'search-words.js' ? 'src/catalogue/search-words.js' : name && `web/${name}`
}
