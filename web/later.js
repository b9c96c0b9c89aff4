import { tell } from './notices.js'
import { words } from './words.js'

/** What the first view does not need. */
const parts = {
  transfer: () => import('./transfer.js'),
  exporting: () => import('./export.js'),
}

/** Loads every part once the first view is there, so that the service may be away when one is needed. */
export const loadParts = () => void Promise.allSettled([parts.transfer(), parts.exporting()])

/** @template T @param {() => Promise<T>} part @param {(module: T) => void} use */
const withPart = (part, use) => void part().then(use, () => tell({ text: words.notLoaded }))

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
