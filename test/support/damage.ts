import { closeSync, openSync, statSync, writeSync } from 'node:fs'
import type { Store } from '../../src/catalogue/store.ts'

/** SQLite's default. */
const PAGE_SIZE = 4096

/** Books enough for a file of hundreds of pages, and for a list of several before its middle. */
export const BOOKS = 1500

/** Stores so many books that the list takes several pages. @returns their ids, in order. */
export async function fill(store: Store): Promise<number[]> {
  const ids: number[] = []
  for (let year = 0; year < BOOKS; year++) {
    const { id } = await store.create({ title: 'x'.repeat(1000), author: 'A', year })
    ids.push(id)
  }
  return ids
}

/**
 * Overwrites a quarter in the middle of a database file that nothing has open: where the books are, not the schema
 * nor the root of the table.
 */
export function damageMiddle(path: string): void {
  const pages = statSync(path).size / PAGE_SIZE
  const first = Math.floor(pages / 2)
  const count = Math.floor(pages / 4)
  const file = openSync(path, 'r+')
  writeSync(file, Buffer.alloc(count * PAGE_SIZE, 0xff), 0, count * PAGE_SIZE, first * PAGE_SIZE)
  closeSync(file)
}
