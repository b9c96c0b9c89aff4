import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'

const FOLDER = resolve(import.meta.dirname, '../../../web')
const MODULES = resolve(import.meta.dirname, '../../../node_modules')

/** The files of packages that the modules of the page import, by their paths in node_modules. */
const LIBRARY_FILES = [
  'lit-html/lit-html.js',
  'lit-html/directive.js',
  'lit-html/directive-helpers.js',
  'lit-html/directives/live.js',
  'lit-html/directives/repeat.js',
  'uplot/dist/uPlot.esm.js',
  'uplot/dist/uPlot.min.css',
]

/** Modules that the page loads only when it needs them. */
const LATER = new Set(['plot.js', 'uplot/dist/uPlot.esm.js'])

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const compressors = { br: promisify(brotliCompress), gzip: promisify(gzip) }

export const CODINGS = ['identity', 'br', 'gzip'] as const

export interface WebFile {
  readonly type: string
  /** The same bytes in every content coding (RFC 9110 §8.4.1). */
  readonly coded: Readonly<Record<(typeof CODINGS)[number], Buffer>>
}

export interface WebFiles {
  /** A digest of all files. It is in their paths, so that a browser may keep them for ever. */
  readonly version: string
  /** The page at `/`. */
  readonly page: WebFile
  /** The base64 SHA-256 of the import map, the only script inside the page. */
  readonly importMapDigest: string
  /** All other files, by their paths after the version. */
  readonly files: ReadonlyMap<string, WebFile>
}

/** Reads and compresses the files of the web page and of its libraries. */
export async function readWebFiles(): Promise<WebFiles> {
  const contents = await readContents()
  const digest = createHash('sha256')
  for (const [name, content] of contents) digest.update(`${name}\0${content.length}\0`).update(content)
  const version = digest.digest('base64url').slice(0, 16)
  const template = contents.get('index.html')?.toString() ?? ''
  contents.delete('index.html')

  const root = `/web/${version}/`
  const importMap = JSON.stringify({
    imports: {
      'lit-html': `${root}lit-html/lit-html.js`,
      'lit-html/': `${root}lit-html/`,
      uplot: `${root}uplot/dist/uPlot.esm.js`,
    },
  })
  const modules = [...contents.keys()].filter((name) => name.endsWith('.js') && !LATER.has(name))
  const head = [
    `<script type="importmap">${importMap}</script>`,
    ...modules.map((name) => `<link rel="modulepreload" href="${root}${name}">`),
  ]
  const html = template.replaceAll('{{root}}', root).replace('<!-- modules -->', head.join('\n    '))
  const made = Array.from(contents, async ([name, content]) => [name, await encode(name, content)] as const)
  return {
    version,
    page: await encode('index.html', Buffer.from(html)),
    importMapDigest: createHash('sha256').update(importMap).digest('base64'),
    files: new Map(await Promise.all(made)),
  }
}

/** Reads the files in an order that does not depend on the file system. */
async function readContents(): Promise<Map<string, Buffer>> {
  const names = (await readdir(FOLDER)).filter((name) => extname(name) in TYPES).toSorted()
  const read = [
    ...names.map(async (name) => [name, await readFile(join(FOLDER, name))] as const),
    ...LIBRARY_FILES.map(async (name) => [name, await readFile(join(MODULES, name))] as const),
  ]
  return new Map(await Promise.all(read))
}

async function encode(name: string, content: Buffer): Promise<WebFile> {
  const [br, gzipped] = await Promise.all([compressors.br(content), compressors.gzip(content)])
  return { type: TYPES[extname(name)] ?? '', coded: { identity: content, br, gzip: gzipped } }
}
