import { html, nothing, render } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { tell } from './notices.js'
import { track } from './pending.js'
import { Away, call, Refused } from './service.js'
import { currentToken } from './session.js'
import { words } from './words.js'

/**
 * @typedef {{ line: number, field: string | null, reason: string }} Fault
 * @typedef {{ source: string, rows: number, added: number, skipped: number, without_year: number, faulty: number, faults: Fault[] }} Report
 */

/** The service cannot serve now, as while another file is imported. */
class Busy extends Away {}

/** How often a check is sent to a service that is busy, and how long to wait in between, in milliseconds. */
const [ATTEMPTS, BUSY_PAUSE] = [20, 1000]

/** @type {File | undefined} */
let file
/** Whether it was dropped on the page: then the field for a file does not show it. */
let isDropped = false
/** @type {Report | undefined} */
let report
/** By default, because browsers send a request again by themselves when the connection is lost before the answer. */
let skipExisting = true
/** Whether a check of the file has found rows with errors, and whether they are left out. */
let hasFaulty = false
let skipFaulty = false
let message = ''
/** Whether books are being stored, and not only checked. */
let isStoring = false
/** Ends the check that is under way. */
let abort = new AbortController()
/** The part of the file that is sent, from 0 to 1; undefined while nothing is. @type {number | undefined} */
let progress
/** @type {() => void} */
let imported = () => {}

/**
 * Opens the dialog for a file.
 * @param {File | undefined} chosen one that was dropped on the page.
 * @param {() => void} whenImported called when its books may be stored.
 */
export function openImport(chosen, whenImported) {
  imported = whenImported
  if (chosen !== undefined && currentToken() === '') return
  if (isStoring && chosen !== undefined) return void tell({ text: words.import.running })
  if (!isStoring) {
    choose(chosen)
    isDropped = chosen !== undefined
  }
  draw()
  show()
}

function show() {
  const element = dialog()
  if (!element?.open) element?.showModal()
}

/** Cancels a check, for which nobody waits any more. An import goes on. */
function closed() {
  if (!isStoring && !dialog()?.open) abort.abort()
}

/** @param {File | undefined} chosen */
function choose(chosen) {
  abort.abort()
  file = chosen
  isDropped = false
  hasFaulty = false
  skipFaulty = false
  report = undefined
  message = ''
  progress = undefined
  draw()
  if (file !== undefined) return void check(file)
  // Or the same file could not be chosen once more.
  const input = /** @type {HTMLInputElement | null | undefined} */ (dialog()?.querySelector('[type=file]'))
  if (input) input.value = ''
}

const dialog = () => /** @type {HTMLDialogElement | null} */ (document.querySelector('#transfer dialog'))

/** Asks what would become of the file; nothing is stored. @param {File} chosen */
async function check(chosen) {
  abort.abort()
  abort = new AbortController()
  const { signal } = abort
  report = undefined
  message = ''
  progress = 0
  draw()
  try {
    const result = await sendWhileBusy(chosen, signal)
    if (signal.aborted) return
    report = result
    hasFaulty ||= result.faulty > 0
  } catch (error) {
    if (signal.aborted) return
    message = error instanceof Away ? words.import.notSaved(error.message) : explain(error)
  }
  progress = undefined
  draw()
}

/**
 * Tries again for a while when the service is busy, as it still is with a file whose connection was lost.
 * @param {File} chosen @param {AbortSignal} signal
 */
async function sendWhileBusy(chosen, signal) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send(chosen, true, signal)
    } catch (error) {
      if (!(error instanceof Busy) || attempt === ATTEMPTS) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, BUSY_PAUSE))
  }
}

/** @param {File} chosen @returns {Promise<string | undefined>} what to tell the user unless it was stored. */
async function store(chosen) {
  isStoring = true
  message = ''
  progress = 0
  draw()
  try {
    const result = await send(chosen, false)
    dialog()?.close()
    // Another number than the check had: they are there from an attempt that was not answered.
    const isRepeated = result.added !== report?.added
    tell({ text: isRepeated ? words.import.doneBefore : words.import.done(result.added) })
    imported()
    return undefined
  } catch (error) {
    if (error instanceof Away) {
      // Whether they were stored is not known: a second attempt must not store them twice.
      skipExisting = true
      report = undefined
      message = words.import.unknown(error.message)
      imported()
    } else message = explain(error)
    const text = words.import.failed(chosen.name, message)
    // The user may be typing in another dialog by now.
    const actions = [
      { label: words.open, run: show },
      { label: words.dismiss, run: () => {} },
    ]
    if (!dialog()?.open) tell({ text, actions }, Number.POSITIVE_INFINITY)
    return text
  } finally {
    isStoring = false
    progress = undefined
    draw()
  }
}

/** @param {unknown} error */
const explain = (error) => (error instanceof Error ? error.message : String(error))

/**
 * Sends the file; `fetch` does not tell how much has gone.
 * @param {File} body @param {boolean} isDryRun @param {AbortSignal} [signal] @returns {Promise<Report>}
 */
async function send(body, isDryRun, signal) {
  // Gets another token first, if there is none that holds.
  await call('GET', '/books?limit=1')
  signal?.throwIfAborted()
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open(
      'POST',
      `./books/import?dry_run=${isDryRun}&skip_existing=${skipExisting}&skip_faulty=${skipFaulty}`,
    )
    request.setRequestHeader('authorization', currentToken())
    request.setRequestHeader('content-type', kindOf(body).type)
    signal?.addEventListener('abort', () => {
      request.abort()
      reject(signal.reason)
    })
    request.upload.onprogress = ({ loaded, total }) => {
      if (signal?.aborted) return
      progress = loaded / total
      draw()
    }
    request.onerror = () => reject(new Away(words.import.lost))
    request.onload = () => {
      const answer = parse(request.responseText)
      if (request.status === 200 && answer) resolve(answer.data)
      else if (request.status === 413)
        reject(new Refused(413, answer ? words.import.tooLarge : words.import.tooLargeForProxy))
      else if (request.status === 503 || !answer) reject(new Busy(words.import.busy))
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

/** @param {Event} event */
const fileOf = (event) => /** @type {HTMLInputElement} */ (event.target).files?.[0]

/** @param {File} chosen */
function kindOf({ name }) {
  if (/\.json$/i.test(name)) return { name: words.import.json, type: 'application/json' }
  return /\.(ndjson|jsonl)$/i.test(name)
    ? { name: words.import.ndjson, type: 'application/x-ndjson' }
    : { name: words.import.csv, type: 'text/csv' }
}

/** @param {Report} result */
function formatOf({ source }) {
  if (source !== 'this service' && source !== 'another program') return words.import.exportOf(source)
  return file === undefined ? '' : kindOf(file).name
}

/** @param {Report} result */
const results = (result) => html`
  <dl>
    <div><dt>${words.import.format}</dt><dd>${formatOf(result)}</dd></div>
    <div><dt>${words.import.rows}</dt><dd>${result.rows.toLocaleString('en')}</dd></div>
    <div><dt>${words.import.added}</dt><dd>${result.added.toLocaleString('en')}</dd></div>
    <div><dt>${words.import.skipped}</dt><dd>${result.skipped.toLocaleString('en')}</dd></div>
    <div><dt>${words.import.withoutYear}</dt><dd>${result.without_year.toLocaleString('en')}</dd></div>
    <div><dt>${words.import.faulty}</dt><dd>${result.faulty.toLocaleString('en')}</dd></div>
  </dl>
  ${
    result.faulty === 0
      ? nothing
      : html`<div class="faults" tabindex="0" role="region" aria-label=${words.import.faults}>
          <table>
            <thead><tr><th scope="col">${words.import.line}</th><th scope="col">${words.import.field}</th><th scope="col">${words.import.problem}</th></tr></thead>
            <tbody>${result.faults.map(({ line, field, reason }) => html`<tr><td>${line}</td><td>${field ?? words.import.wholeRow}</td><td>${reason}</td></tr>`)}</tbody>
          </table>
        </div>`
  }
`

/** An option of the import. The file is checked again with it. @param {string} label @param {boolean} isChecked @param {(isChecked: boolean) => void} change */
const checkbox = (label, isChecked, change) => html`
  <label class="check"><input type="checkbox" .checked=${live(isChecked)} ?disabled=${isStoring} @change=${(
    /** @type {Event} */ event,
  ) => {
    change(/** @type {HTMLInputElement} */ (event.target).checked)
    if (file !== undefined) void check(file)
  }} /> ${label}</label>`

function draw() {
  const element = document.getElementById('transfer')
  if (element === null) return
  const isRight = report?.faulty === 0 || skipFaulty
  const canImport = report !== undefined && isRight && report.added > 0 && progress === undefined
  render(
    html`<dialog class="transfer" aria-labelledby="transfer-title" @close=${closed}>
      <h2 id="transfer-title">${words.import.heading}</h2>
      <p>${words.import.hint}</p>
      <label>${words.import.file} <input type="file" accept=".csv,.tsv,.txt,.ndjson,.jsonl,.json" @change=${(/** @type {Event} */ event) => choose(fileOf(event))} ?disabled=${isStoring} /></label>
      ${checkbox(words.import.skip, skipExisting, (isChecked) => {
        skipExisting = isChecked
      })}
      ${
        hasFaulty
          ? checkbox(words.import.skipFaulty, skipFaulty, (isChecked) => {
              skipFaulty = isChecked
            })
          : nothing
      }
      ${isDropped ? html`<p>${words.import.selected}: <b>${file?.name}</b></p>` : nothing}
      ${progress === undefined ? nothing : html`<progress aria-label=${words.import.progress} max="1" .value=${progress}></progress>`}
      <div aria-live="polite">${report === undefined ? nothing : results(report)}</div>
      <p class="error" role="alert">${message}</p>
      <div class="buttons">
        ${
          file !== undefined && message !== ''
            ? html`<button type="button" class="main" @click=${() => file && check(file)}>${words.import.checkAgain}</button>`
            : html`<button type="button" class="main" ?disabled=${!canImport} @click=${() => file && track(words.import.importing(file.name), store(file))}>${words.import.import}</button>`
        }
        <button type="button" @click=${() => dialog()?.close()}>${words.close}</button>
      </div>
    </dialog>`,
    element,
  )
}
