import { html, render } from 'lit-html'
import { saveFile } from './save-file.js'
import { Away, call, wasAborted } from './service.js'
import { words } from './words.js'

/** @type {readonly { name: string, type: string, ending: string, parameter?: string }[]} */
const FORMATS = [
  { name: words.export.spreadsheet, type: 'text/csv', ending: 'csv', parameter: 'spreadsheet=true' },
  { name: words.export.csv, type: 'text/csv', ending: 'csv' },
  { name: words.export.ndjson, type: 'application/x-ndjson', ending: 'ndjson' },
]

let query = ''
let message = ''
let isBusy = false
let abort = new AbortController()

/** @param {string} shown the query of the list. */
export function exportBooks(shown) {
  query = shown
  message = ''
  draw()
  dialog()?.showModal()
}

const dialog = () => /** @type {HTMLDialogElement | null} */ (document.querySelector('#export dialog'))

/** @param {typeof FORMATS[number]} format */
async function save({ type, ending, parameter = '' }) {
  abort = new AbortController()
  isBusy = true
  message = ''
  draw()
  try {
    const headers = { accept: type }
    const parameters = [query, parameter].filter((text) => text !== '').join('&')
    const path = `/books${parameters && '?'}${parameters}`
    const response = await call('GET', path, { headers, signal: abort.signal })
    saveFile(await response.blob(), `books.${ending}`)
    dialog()?.close()
  } catch (error) {
    if (!wasAborted(error)) message = explain(error)
  } finally {
    isBusy = false
    draw()
  }
}

/** @param {unknown} error */
function explain(error) {
  // `blob()` throws a TypeError when the response ends too early.
  if (error instanceof TypeError) return words.export.failed
  if (error instanceof Away) return words.export.none(error.message)
  return error instanceof Error ? error.message : String(error)
}

function draw() {
  const element = document.getElementById('export')
  if (element === null) return
  render(
    html`<dialog class="export" aria-labelledby="export-title" @close=${() => abort.abort()}>
      <h2 id="export-title">${words.export.heading}</h2>
      <p>${words.export.hint}</p>
      <p class="error" role="alert">${message}</p>
      <div class="buttons">
        ${FORMATS.map(
          (format, index) => html`<button
            type="button"
            class=${index === 0 ? 'main' : ''}
            ?disabled=${isBusy}
            @click=${() => save(format)}
          >${format.name}</button>`,
        )}
        <button type="button" @click=${() => dialog()?.close()}>${words.cancel}</button>
      </div>
      <p role="status">${isBusy ? words.export.running : ''}</p>
    </dialog>`,
    element,
  )
}
