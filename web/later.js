import { tell } from './notices.js'
import { words } from './words.js'

/**
 * A module that the first view does not need. Once it is loaded, `use` is synchronous, so that what is typed after a
 * click goes to the dialog that the click opens.
 * @template T @param {() => Promise<T>} load
 */
function later(load) {
  /** @type {T | undefined} */
  let module
  const get = async () => {
    module ??= await load()
    return module
  }
  return {
    get,
    use(/** @type {(module: T) => void} */ run) {
      if (module === undefined) void get().then(run, () => tell({ text: words.notLoaded }))
      else run(module)
    },
  }
}

const editor = later(() => import('./editor.js'))
const transfer = later(() => import('./transfer.js'))
const exporting = later(() => import('./export.js'))
const selecting = later(() => import('./selecting.js'))
const charts = later(() => import('./charts.js'))

/** Loads all parts once the first view is shown, so that they work even if the service is unavailable later. */
export const loadParts = () =>
  void Promise.allSettled([editor, transfer, exporting, selecting, charts].map(({ get }) => get()))

export const addBook = () => editor.use((part) => part.addBook())

/** @param {number} id */
export const editBook = (id) => editor.use((part) => void part.editBook(id))

/** @param {string} draft what was typed before a reload. */
export const resumeEdit = (draft) => editor.use((part) => part.resume(draft))

export const importBooks = () => transfer.use((part) => part.openImport(undefined))

export const importSamples = () => transfer.use((part) => void part.importSamples())

/** @param {string} query */
export const exportBooks = (query) => exporting.use((part) => part.exportBooks(query))

export const useSelecting = selecting.use

export const useCharts = charts.use

/** Opens the import dialog for a file that is dropped anywhere on the web page. */
export function acceptDrops() {
  const mark = (/** @type {boolean} */ isOver) =>
    document.documentElement.classList.toggle('dragging', isOver)
  addEventListener('dragover', (event) => {
    event.preventDefault()
    mark(event.dataTransfer?.types.includes('Files') === true)
  })
  addEventListener('dragleave', ({ relatedTarget }) => {
    if (relatedTarget === null) mark(false)
  })
  addEventListener('drop', (event) => {
    event.preventDefault()
    mark(false)
    const [file] = event.dataTransfer?.files ?? []
    if (file) transfer.use((part) => part.openImport(file))
  })
}
