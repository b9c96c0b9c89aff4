import { tell } from './notices.js'
import { words } from './words.js'

/** What the first view does not need. */
const parts = {
  editor: () => import('./editor.js'),
  transfer: () => import('./transfer.js'),
  exporting: () => import('./export.js'),
}

/** Loads every part once the first view is there, so that the service may be away when one is needed. */
export const loadParts = () => void Promise.allSettled(Object.values(parts).map((load) => load()))

/** @template T @param {() => Promise<T>} part @param {(module: T) => void} use */
const withPart = (part, use) => void part().then(use, () => tell({ text: words.notLoaded }))

/** @param {import('./editor.js').Listener} listener */
export const addBook = (listener) => withPart(parts.editor, (editor) => editor.addBook(listener))

/** @param {number} id @param {import('./editor.js').Listener} listener */
export const editBook = (id, listener) =>
  withPart(parts.editor, (editor) => void editor.editBook(id, listener))

/** Asks for a file to import. @param {() => void} imported called when its books may be stored. */
export const importBooks = (imported) =>
  withPart(parts.transfer, ({ openImport }) => openImport(undefined, imported))

/** Asks for the format, and saves the books of a query as a file. @param {string} query */
export const exportBooks = (query) => withPart(parts.exporting, (exporting) => exporting.exportBooks(query))

/** Files that are dropped anywhere on the page are imported. @param {() => void} imported called when their books may be stored. */
export function acceptDrops(imported) {
  addEventListener('dragover', (event) => event.preventDefault())
  addEventListener('drop', (event) => {
    event.preventDefault()
    const [file] = event.dataTransfer?.files ?? []
    if (file) withPart(parts.transfer, ({ openImport }) => openImport(file, imported))
  })
}
