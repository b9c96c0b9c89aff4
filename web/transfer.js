import { html, nothing, render } from 'lit-html'
import { tell } from './notices.js'
import { Away, call, currentToken, Refused } from './service.js'

/**
 * @typedef {{ line: number, field: string | null, reason: string }} Fault
 * @typedef {{ source: string, rows: number, added: number, skipped: number, without_year: number, faulty: number, faults: Fault[] }} Report
 */

/** @type {File | undefined} */
let file
/** @type {Report | undefined} */
let report
let skipExisting = false
let message = ''
/** The part of the file that is sent, from 0 to 1; undefined while nothing is. @type {number | undefined} */
let progress
/** @type {() => void} */
let imported = () => {}

/** Files that are dropped anywhere on the page are imported. @param {() => void} whenImported */
export function startTransfer(whenImported) {
  imported = whenImported
  addEventListener('dragover', (event) => event.preventDefault())
  addEventListener('drop', (event) => {
    event.preventDefault()
    const [first] = event.dataTransfer?.files ?? []
    if (first !== undefined && currentToken() !== '') open(first)
  })
}

export const chooseFile = () => open(undefined)

/** @param {File | undefined} chosen */
function open(chosen) {
  message = ''
  choose(chosen)
  const element = dialog()
  if (!element?.open) element?.showModal()
}

/** @param {File | undefined} chosen */
function choose(chosen) {
  file = chosen
  report = undefined
  draw()
  if (file !== undefined) void run(true)
}

const dialog = () => /** @type {HTMLDialogElement | null} */ (document.querySelector('#transfer dialog'))

/** @param {boolean} isDryRun */
async function run(isDryRun) {
  if (file === undefined) return
  message = ''
  progress = 0
  draw()
  try {
    const result = await send(file, `/books/import?dry_run=${isDryRun}&skip_existing=${skipExisting}`)
    if (isDryRun) report = result
    else {
      dialog()?.close()
      tell({ text: `Imported ${result.added.toLocaleString('en')} books.` })
      imported()
    }
  } catch (error) {
    message =
      error instanceof Away
        ? `${error.message}. Either all books of the file were stored or none; a second attempt without those that are there does no harm.`
        : String(error instanceof Refused ? error.message : error)
  } finally {
    progress = undefined
    draw()
  }
}

/**
 * Sends the file; `fetch` does not tell how much has gone.
 * @param {File} body @param {string} path @returns {Promise<Report>}
 */
async function send(body, path) {
  // Gets another token first, if there is none that holds.
  await call('GET', '/books?limit=1')
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', path)
    request.setRequestHeader('authorization', currentToken())
    const isLines = /\.(ndjson|jsonl)$/i.test(body.name)
    request.setRequestHeader('content-type', isLines ? 'application/x-ndjson' : 'text/csv')
    request.upload.onprogress = ({ loaded, total }) => {
      progress = loaded / total
      draw()
    }
    request.onerror = () => reject(new Away('The connection was lost'))
    request.onload = () => {
      const answer = parse(request.responseText)
      if (request.status === 200 && answer) resolve(answer.data)
      else if (request.status === 503 || !answer) reject(new Away('The service cannot take the file now'))
      else reject(new Refused(request.status, answer.message))
    }
    request.send(body)
  })
}

/** @param {string} text @returns {{ message: string, data: Report } | undefined} */
function parse(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Saves the books of a query as a CSV file. @param {string} query */
export async function exportBooks(query) {
  try {
    const response = await call('GET', query === '' ? '/books' : `/books?${query}`, {
      headers: { accept: 'text/csv' },
    })
    const link = document.createElement('a')
    link.href = URL.createObjectURL(await response.blob())
    link.download = 'books.csv'
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
  } catch {
    tell({ text: 'The books could not be exported: the service does not answer.' })
  }
}

/** @param {Event} event */
const fileOf = (event) => /** @type {HTMLInputElement} */ (event.target).files?.[0]

/** @param {Report} result */
const results = (result) => html`
  <dl>
    <div><dt>Written by</dt><dd>${result.source}</dd></div>
    <div><dt>Rows</dt><dd>${result.rows.toLocaleString('en')}</dd></div>
    <div><dt>To be added</dt><dd>${result.added.toLocaleString('en')}</dd></div>
    <div><dt>Already there</dt><dd>${result.skipped.toLocaleString('en')}</dd></div>
    <div><dt>Without a year</dt><dd>${result.without_year.toLocaleString('en')}</dd></div>
    <div><dt>Faulty</dt><dd>${result.faulty.toLocaleString('en')}</dd></div>
  </dl>
  ${
    result.faulty === 0
      ? nothing
      : html`<div class="faults" tabindex="0" role="region" aria-label="Faulty rows">
          <table>
            <thead><tr><th scope="col">Line</th><th scope="col">Field</th><th scope="col">Reason</th></tr></thead>
            <tbody>${result.faults.map(({ line, field, reason }) => html`<tr><td>${line}</td><td>${field ?? 'row'}</td><td>${reason}</td></tr>`)}</tbody>
          </table>
        </div>`
  }
`

function draw() {
  const element = document.getElementById('transfer')
  if (element === null) return
  const canImport = report !== undefined && report.faulty === 0 && report.added > 0 && progress === undefined
  render(
    html`<dialog class="transfer" aria-labelledby="transfer-title">
      <h2 id="transfer-title">Import books</h2>
      <p>A CSV file with title, author and year, an export of Goodreads, LibraryThing or Calibre, or NDJSON. It is checked first; nothing is stored before you say so.</p>
      <label>File <input type="file" accept=".csv,.tsv,.txt,.ndjson,.jsonl" @change=${(/** @type {Event} */ event) => choose(fileOf(event))} /></label>
      <label class="check"><input type="checkbox" .checked=${skipExisting} @change=${(
        /** @type {Event} */ event,
      ) => {
        skipExisting = /** @type {HTMLInputElement} */ (event.target).checked
        void run(true)
      }} /> Pass over books that are there already</label>
      ${file === undefined ? nothing : html`<p><b>${file.name}</b></p>`}
      ${progress === undefined ? nothing : html`<progress aria-label="Sent" max="1" .value=${progress}></progress>`}
      <div aria-live="polite">${report === undefined ? nothing : results(report)}</div>
      <p class="error" role="alert">${message}</p>
      <div class="buttons">
        <button type="button" class="main" ?disabled=${!canImport} @click=${() => run(false)}>Import</button>
        <button type="button" @click=${() => dialog()?.close()}>Close</button>
      </div>
    </dialog>`,
    element,
  )
}
