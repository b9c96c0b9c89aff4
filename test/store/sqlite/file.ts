import { join } from 'node:path'
import type { Store } from '../../../src/catalogue/store.ts'
import { parseDbUrl } from '../../../src/store/db-url.ts'
import { openStore } from '../../../src/store/open.ts'
import { temporaryDirectory } from '../../support/service.ts'

export const openFile = (path: string): Promise<Store> => openStore(parseDbUrl(`sqlite:${path}`))

/** The path of a database file that is not there yet, in a directory of its own. */
export function newFile(): { path: string; directory: string } & Disposable {
  const directory = temporaryDirectory()
  return {
    path: join(directory.path, 'books.db'),
    directory: directory.path,
    [Symbol.dispose]: directory.remove,
  }
}
