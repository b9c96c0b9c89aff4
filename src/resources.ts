import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { extname, join, resolve } from 'node:path'

/** The path of a thread's code in `src`, without the extension. */
export type ThreadName = `${string}-thread`

/** Gives access to the code of threads and to the files of web pages. */
interface Resources {
  /** @returns the URL for `new Worker()`. */
  thread(name: ThreadName): URL
  /** @returns the names of the files in a folder of `web`. */
  webNames(folder: string): string[]
  /** @param path in `web`. */
  webFile(path: string): Promise<Buffer>
  /** @param path of a JavaScript module in `src`. */
  moduleFile(path: string): Promise<Buffer>
  /** @param path begins with the name of the package. */
  packageFile(path: string): Promise<Buffer>
}

// Bun and Deno have no such module.
const sea = process.getBuiltinModule?.('node:sea')

/** Whether this is the executable that package/build-executable.ts makes. */
export const isExecutable = sea?.isSea() === true

export const resources: Resources = sea?.isSea() ? fromExecutable(sea) : fromDisk()

function fromExecutable({ getRawAsset, getAssetKeys }: typeof import('node:sea')): Resources {
  const read = (name: string) => Buffer.from(getRawAsset(name))
  return {
    // Of the ways to start a thread from a text, only a `data:` URL allows `import` in it.
    thread: (name) => new URL(`data:text/javascript;base64,${read(`${name}.js`).toString('base64')}`),
    webNames(folder) {
      const prefix = join('web', folder, '/')
      const paths = getAssetKeys().filter((path) => path.startsWith(prefix))
      return paths.map((path) => path.slice(prefix.length)).filter((name) => !name.includes('/'))
    },
    webFile: async (path) => read(join('web', path)),
    moduleFile: async (path) => read(path),
    packageFile: async (path) => read(join('node_modules', path)),
  }
}

function fromDisk(): Resources {
  const web = resolve(import.meta.dirname, '../web')
  const require = createRequire(import.meta.url)
  return {
    thread: (name) => new URL(`./${name}${extname(import.meta.url)}`, import.meta.url),
    webNames: (folder) => readdirSync(join(web, folder)),
    webFile: (path) => readFile(join(web, path)),
    moduleFile: (path) => readFile(join(import.meta.dirname, path)),
    packageFile(path) {
      // npm may install a dependency in the `node_modules` of any directory above.
      const paths = require.resolve.paths(path)?.map((directory) => join(directory, path)) ?? []
      return readFile(paths.find((each) => existsSync(each)) ?? path)
    },
  }
}
