import { createHash } from 'node:crypto'
import { basename, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import { resources } from '../../resources.ts'

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.csv': 'text/csv; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** A comment on lines of its own, and the space at the beginning of a line. */
const COMMENT = /^[ \t]*(?:\/\*(?:(?!\*\/)[\s\S])*\*\/|\/\/.*)\n/gm
const INDENTATION = /^[ \t]+/gm

/** Comments and indentation are a quarter of the size of a script, and no browser needs them. */
export const asServed = (text: string) => text.replace(COMMENT, '').replace(INDENTATION, '')

const compressors = { br: promisify(brotliCompress), gzip: promisify(gzip) }

export const CODINGS = ['identity', 'br', 'gzip'] as const

export interface WebFile {
  readonly type: string
  /** The content in every content coding (RFC 9110 §8.4.1). */
  readonly coded: Readonly<Record<(typeof CODINGS)[number], Buffer>>
}

/** The files of a web page. */
export interface Source {
  /** The folder in `web` with its `index.html`. All files in it belong to the web page. */
  readonly folder: string
  /** Other files, by their paths in `web`; served by their names. */
  readonly shared?: readonly string[]
  /** Modules of the service, by their paths in `src`. */
  readonly modules?: readonly string[]
  /** Files of packages, each by the name of its package and its path there. */
  readonly libraries: readonly string[]
}

interface WebFiles {
  /** A digest of all files. It is in their paths, so that browsers may cache them for ever. */
  readonly version: string
  /** `index.html`, in which `{{root}}` stands for the prefix of the paths of the other files. */
  readonly template: string
  /** All other files, by their paths after the version. */
  readonly files: ReadonlyMap<string, WebFile>
}

export async function readWebFiles(source: Source): Promise<WebFiles> {
  const contents = await readContents(source)
  const digest = createHash('sha256')
  for (const [name, content] of contents) digest.update(`${name}\0${content.length}\0`).update(content)
  const version = digest.digest('base64url').slice(0, 16)
  const template = contents.get('index.html')?.toString() ?? ''
  contents.delete('index.html')
  const made = Array.from(contents, async ([name, content]) => [name, await encode(name, content)] as const)
  return { version, template, files: new Map(await Promise.all(made)) }
}

/** Reads the files in an order that does not depend on the file system: the digest depends on that order. */
async function readContents(source: Source): Promise<Map<string, Buffer>> {
  const { folder, shared = [], modules = [], libraries } = source
  const names = resources.webNames(folder).filter((name) => extname(name) in TYPES)
  const read = [
    ...names.toSorted().map((name) => readOwn(name, resources.webFile(join(folder, name)))),
    ...shared.map((path) => readOwn(basename(path), resources.webFile(path))),
    ...modules.map((name) => readOwn(name, resources.moduleFile(name))),
    ...libraries.map((name) => readLibrary(name)),
  ]
  return new Map(await Promise.all(read))
}

async function readOwn(name: string, reading: Promise<Buffer>): Promise<readonly [string, Buffer]> {
  const content = await reading
  return [name, /\.(js|css)$/.test(name) ? Buffer.from(asServed(content.toString())) : content]
}

/** A file of a package, without the name of its source map, which is not served. */
async function readLibrary(name: string): Promise<readonly [string, Buffer]> {
  const content = await resources.packageFile(name)
  const end = content.lastIndexOf('//# sourceMappingURL=')
  return [name, end === -1 ? content : content.subarray(0, end)]
}

/** @param name its extension decides the media type. */
export async function encode(name: string, content: Buffer): Promise<WebFile> {
  const [br, gzipped] = await Promise.all([compressors.br(content), compressors.gzip(content)])
  return { type: TYPES[extname(name)] ?? '', coded: { identity: content, br, gzip: gzipped } }
}
