import { html } from 'lit-html'
import { finishDeletions } from './deletions.js'
import { assign, Dialog, reactive } from './dialog.js'
import { Away, call, wasAborted } from './service.js'
import { readRows, store } from './store.js'
import { words } from './words.js'

/** How long the browser has to save a file before its URL is revoked, in milliseconds. */
const SAVING = 60_000

/** @type {readonly { name: string, type: string, ending: string, parameter?: string }[]} */
const FORMATS = [
  { name: words.export.spreadsheet, type: 'text/csv', ending: 'csv', parameter: 'spreadsheet=true' },
  { name: words.export.csv, type: 'text/csv', ending: 'csv' },
  { name: words.export.ndjson, type: 'application/x-ndjson', ending: 'ndjson' },
]

const state = reactive({ query: '', message: '', isBusy: false })
let abort = new AbortController()

const dialog = new Dialog('export', content, { closed: () => abort.abort() })

/** @param {string} query of the list. */
export function exportBooks(query) {
  assign(state, { query, message: '' })
  dialog.show()
}

/** @param {typeof FORMATS[number]} format */
async function save({ type, ending, parameter = '' }) {
  if (state.isBusy) return
  abort = new AbortController()
  assign(state, { isBusy: true, message: '' })
  try {
    // Their books are no longer in the list.
    await finishDeletions()
    const headers = { accept: type }
    const parameters = [state.query, parameter].filter((text) => text !== '').join('&')
    const path = `/books${parameters && '?'}${parameters}`
    const response = await call('GET', path, { headers, signal: abort.signal })
    saveFile(await response.blob(), `books.${ending}`)
    dialog.close()
  } catch (error) {
    if (!wasAborted(error)) state.message = explain(error)
  } finally {
    state.isBusy = false
  }
}

/** @param {unknown} error */
function explain(error) {
  // `blob()` throws a TypeError when the response ends too early.
  if (error instanceof TypeError) return words.export.failed
  if (error instanceof Away) return words.export.none(error.message)
  return error instanceof Error ? error.message : String(error)
}

function content() {
  const { message, isBusy } = state
  return html`
    <h2 id="export-title">${words.export.heading}</h2>
    <p>${words.export.hint}</p>
    <p class="error" role="alert">${message}</p>
    <div class="buttons">
      ${FORMATS.map(
        (format, index) => html`<button
          type="button"
          class=${index === 0 ? 'main' : ''}
          aria-disabled=${isBusy}
          @click=${() => save(format)}
        >${format.name}</button>`,
      )}
      <button type="button" @click=${() => dialog.close()}>${words.cancel}</button>
    </div>
    <p role="status">${isBusy ? words.export.running : ''}</p>
  `
}

/** @param {Blob} content @param {string} name */
export function saveFile(content, name) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), SAVING)
}

/** How many books are printed at most. */
const MOST_PRINTED = 1000

/** Reads the books that are to be printed first, because the browser does not wait for them. */
export async function printList() {
  if (store.pages !== undefined) await readRows(0, MOST_PRINTED)
  print()
}
