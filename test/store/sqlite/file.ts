import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after } from 'node:test'
import type { Store } from '../../../src/catalogue/store.ts'
import { parseDbUrl } from '../../../src/store/db-url.ts'
import { openStore } from '../../../src/store/open.ts'
import { makeDurable } from '../../../src/store/sqlite/connection.ts'
import { ensureSchema } from '../../../src/store/sqlite/schema.ts'
import { temporaryDirectory } from '../../support/service.ts'

/** A test that fails closes no store, and its threads would keep the process from ending. Most are closed already. */
const opened: Store[] = []
after(() => Promise.allSettled(opened.map((store) => store.close())))

/** @param report is told what the operator has to know. */
export async function openFile(path: string, report: (message: string) => void = () => {}): Promise<Store> {
  const store = await openStore(parseDbUrl(`sqlite:${path}`), { report })
  opened.push(store)
  return store
}

/** A file of its own with a store, which is closed when the file is removed. */
export async function openedFile(from?: string) {
  const file = newFile()
  if (from !== undefined) copyFileSync(from, file.path)
  const store = await openFile(file.path)
  return {
    path: file.path,
    store,
    [Symbol.asyncDispose]: async () => {
      await store.close()
      file[Symbol.dispose]()
    },
  }
}

/** A new file with the tables of this version, and a connection to it that hardly waits for a lock. */
export function newDatabase() {
  const file = newFile()
  const database = new DatabaseSync(file.path, { timeout: 50 })
  makeDurable(database)
  ensureSchema(database)
  return {
    path: file.path,
    database,
    [Symbol.dispose]: () => {
      database.close()
      file[Symbol.dispose]()
    },
  }
}

/** The path of a database file that is not there yet, in a directory of its own. */
export function newFile(): { path: string; directory: string } & Disposable {
  const directory = temporaryDirectory()
  return {
    path: join(directory.path, 'books.db'),
    directory: directory.path,
    [Symbol.dispose]: directory.remove,
  }
}
