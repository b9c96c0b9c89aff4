import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { extname, join, resolve } from 'node:path'

/** The code of a thread: its path in `src`, without the extension. */
export type ThreadName = `${string}-thread`

/** Where the code of threads and the files of the pages come from. */
interface Resources {
  /** What a `Worker` is made with. */
  thread(name: ThreadName): URL
  /** The names of the files in a folder of `web`. */
  webNames(folder: string): string[]
  /** Reads a file of `web`. @param path in it. */
  webFile(path: string): Promise<Buffer>
  /** Reads a module of the service that is JavaScript. @param path in `src`. */
  moduleFile(path: string): Promise<Buffer>
  /** Reads a file of a package. @param path begins with the name of the package. */
  packageFile(path: string): Promise<Buffer>
}

// Bun and Deno have no such module.
const sea = process.getBuiltinModule?.('node:sea')

/** Whether this is the executable that package/build-executable.ts makes. */
export const isExecutable = sea?.isSea() === true

/** Inside the executable, and else beside this file. */
export const resources: Resources = sea?.isSea() ? inside(sea) : beside()

function inside({ getRawAsset, getAssetKeys }: typeof import('node:sea')): Resources {
  const read = (name: string) => Buffer.from(getRawAsset(name))
  return {
    // A thread can be made of no other text with `import`.
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

function beside(): Resources {
  const web = resolve(import.meta.dirname, '../web')
  const require = createRequire(import.meta.url)
  return {
    thread: (name) => new URL(`./${name}${extname(import.meta.url)}`, import.meta.url),
    webNames: (folder) => readdirSync(join(web, folder)),
    webFile: (path) => readFile(join(web, path)),
    moduleFile: (path) => readFile(join(import.meta.dirname, path)),
    packageFile(path) {
      // npm may install a package of the service in any `node_modules` above it.
      const paths = require.resolve.paths(path)?.map((directory) => join(directory, path)) ?? []
      return readFile(paths.find((each) => existsSync(each)) ?? path)
    },
  }
}
