import { html, nothing } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { Columns } from './columns.js'
import { csvOf } from './csv.js'
import { assign, Dialog, find, openDialog, progressBar, reactive, restoreFocus, tell } from './dialog.js'
import { saveFile } from './export.js'
import { icon } from './icons.js'
import { booksAfter, newestId, tellImported } from './imported.js'
import { Away, Refused, track } from './service.js'
import { currentToken } from './session.js'
import { load, MOST } from './store.js'
import { check, kindOf, upload } from './upload.js'
import { words } from './words.js'

/** @typedef {import('./upload.js').Report} Report */

const NOTHING = {
  file: /** @type {File | undefined} */ (undefined),
  /** The columns of the file, if it is CSV. */
  columns: /** @type {Columns | undefined} */ (undefined),
  report: /** @type {Report | undefined} */ (undefined),
  message: '',
  /** Says what the user has cancelled. */
  note: '',
  /** What is under way. */
  phase: /** @type {'checking' | 'storing' | 'cancelling' | undefined} */ (undefined),
}

const state = reactive({
  ...NOTHING,
  /** True by default, because browsers repeat a request by themselves if the connection is lost before the response. */
  skipExisting: true,
  /** The part of the file that was sent, from 0 to 1. */
  sent: 0,
})
let abort = new AbortController()
/** Removes the notice about an import that continues without its dialog. */
let dismissRunning = () => {}

const dialog = new Dialog('transfer', content, { closed })

const isStoring = () => state.phase === 'storing' || state.phase === 'cancelling'

/** @param {File | undefined} chosen a file that was dropped on the web page. */
export function openImport(chosen) {
  if (chosen !== undefined && (currentToken() === '' || openDialog()?.id === 'login')) return
  if (isStoring() && chosen !== undefined) return void tell({ text: words.import.running })
  if (!isStoring()) choose(chosen)
  show()
}

function show() {
  dismissRunning()
  dialog.show()
}

/** Cancels a check, because nobody waits for it any more. An import continues, and a notice says so. */
function closed() {
  if (!isStoring()) return abort.abort()
  const actions = [{ label: words.open, run: show, forPage: true }]
  const text = words.import.runningFile(state.file?.name ?? '')
  dismissRunning = tell({ text, actions, progress: partSent, stays: true })
}

/** @param {File | undefined} file */
function choose(file) {
  abort.abort()
  assign(state, { ...NOTHING, file })
  if (file !== undefined) void checkFile(file)
}

/** Has the service check the file; nothing is stored. @param {File} chosen */
async function checkFile(chosen) {
  abort.abort()
  abort = new AbortController()
  const { signal } = abort
  state.report = undefined
  started('checking')
  try {
    const result = await check(chosen, typeOf(chosen), options(), signal, progressed)
    if (signal.aborted) return
    found(chosen, result)
  } catch (error) {
    if (signal.aborted) return
    state.message = error instanceof Away ? words.import.notSaved(error.message) : explain(error)
  }
  ended()
}

/** @param {File} chosen @param {Report} result of its check. */
function found(chosen, result) {
  if (kindOf(chosen).type === 'text/csv') {
    state.columns ??= new Columns()
    state.columns.update(result)
  }
  const { columns } = state
  if (columns?.isUnclear) {
    const missing = columns.missing.map((field) => words.list[field].toLowerCase())
    const reason = sentence(result.faults[0]?.reason ?? '')
    const isGarbled = columns.rows[0]?.some((name) => name.includes('\ufffd')) ?? false
    state.message =
      missing.length > 0 ? words.import.columnsMissing(missing, columns.hasHeader, isGarbled) : reason
  } else state.report = result
}

/** @param {File} chosen */
const typeOf = (chosen) => state.columns?.type ?? kindOf(chosen).type

const options = () => ({
  skip_existing: state.skipExisting,
  // The page says how many rows these are, before anything is stored.
  skip_faulty: true,
  ...state.columns?.parameters,
})

/** @param {NonNullable<typeof state.phase>} phase */
function started(phase) {
  assign(state, { phase, sent: 0, message: '', note: '' })
  restoreFocus()
}

/** @param {number} part */
function progressed(part) {
  state.sent = part
}

/** The part that was sent; undefined while the service works on the whole file. */
const partSent = () => (state.phase !== 'cancelling' && state.sent < 1 ? state.sent : undefined)

function ended() {
  state.phase = undefined
  dismissRunning()
  restoreFocus()
  // Otherwise the buttons, which stay in sight, would cover it.
  if (state.message !== '') find('#transfer .error')?.scrollIntoView({ block: 'nearest' })
}

/** @param {File} chosen @returns {Promise<string | undefined>} what to tell the user if it has failed. */
async function store(chosen) {
  abort = new AbortController()
  const { signal } = abort
  const expected = state.report?.added ?? 0
  let before = Number.NaN
  started('storing')
  try {
    before = await newestId()
    const { added } = await upload(
      chosen,
      typeOf(chosen),
      { dry_run: false, ...options() },
      signal,
      progressed,
    )
    dialog.close()
    void tellImported(words.import.done(added), chosen.name, added, before)
    load()
    return undefined
  } catch (error) {
    if (signal.aborted) {
      const outcome = await outcomeAfter(before, expected)
      if (outcome === 'none') state.note = words.import.cancelled
      else load()
      if (outcome === 'all') {
        dialog.close()
        void tellImported(words.import.tooLate(expected), chosen.name, expected, before)
      }
      if (outcome !== 'unknown') return undefined
      assign(state, { skipExisting: true, report: undefined })
      state.message = words.import.unknown(words.import.wasCancelled)
    } else if (error instanceof Away) {
      // Whether the books were stored is unknown. A second attempt must not store them twice.
      assign(state, { skipExisting: true, report: undefined })
      state.message = words.import.unknown(error.message)
      load()
    } else state.message = explain(error)
    const text = words.import.failed(chosen.name, state.message)
    // The dialog does not open by itself: the user may be typing in another one by now.
    const actions = [
      { label: words.open, run: show },
      { label: words.dismiss, run: () => {} },
    ]
    if (!dialog.isOpen) tell({ text, actions, stays: true })
    return text
  } finally {
    ended()
  }
}

let isImportingSamples = false

/** Stores the sample books, which are served with the web page. */
export async function importSamples() {
  if (isImportingSamples) return
  isImportingSamples = true
  try {
    const before = await newestId()
    const samples = await (await fetch(new URL('books.csv', import.meta.url))).blob()
    const options = { dry_run: false, skip_existing: true }
    const { added } = await upload(samples, 'text/csv', options, new AbortController().signal)
    void tellImported(words.import.done(added), 'books.csv', added, before)
    load()
  } catch (error) {
    tell({ text: error instanceof Away ? words.moment(error.message) : explain(error) })
  } finally {
    isImportingSamples = false
  }
}

/**
 * Finds out what became of an import whose connection was closed. The service ends it, unless it is already storing.
 * @param {number} before the highest id of a book before the import; NaN if nothing was sent yet.
 * @param {number} expected how many books it has.
 * @returns {Promise<'all' | 'none' | 'unknown'>}
 */
async function outcomeAfter(before, expected) {
  try {
    // The service is busy for this check until it has ended the import.
    await check(new Blob(['title,author,year']), 'text/csv', {}, new AbortController().signal)
    const { length } = await booksAfter(before, expected)
    return length === 0 ? 'none' : length === expected ? 'all' : 'unknown'
  } catch (error) {
    if (error instanceof Away || error instanceof Refused) return 'unknown'
    throw error
  }
}

/** @param {unknown} error */
const explain = (error) => (error instanceof Error ? error.message : String(error))

/** @param {Event} event */
const fileOf = (event) => /** @type {HTMLInputElement} */ (event.target).files?.[0]

/** Forgets the file, so that it is read anew if the same one is chosen again. @param {Event} event */
function forgetFile({ target }) {
  const input = /** @type {HTMLInputElement} */ (target)
  input.value = ''
}

/** @param {Report} result */
function formatOf({ source }) {
  if (source !== 'this service' && source !== 'another program') return words.import.exportOf(source)
  return state.file === undefined ? '' : kindOf(state.file).name
}

/** What becomes of the rows. The numbers add up to all of them. @param {Report} result */
function results(result) {
  const { rows, added, skipped, faulty, empty, without_year: withoutYear } = result
  const others = [
    ...(faulty > 0 ? [html`<span class="error">${words.import.faulty(faulty)}</span>`] : []),
    ...(skipped > 0 ? [words.import.skipped(skipped)] : []),
    ...(empty > 0 ? [words.import.empty(empty)] : []),
  ]
  return html`
    <h3>${words.import.ready(added)}${others.map((text) => html` · ${text}`)}</h3>
    <p class="about">${words.import.about(rows, formatOf(result))}
      ${withoutYear > 0 ? words.import.withoutYear(withoutYear) : nothing}
      ${added > MOST ? words.import.noUndo(MOST) : nothing}</p>
    ${faulty === 0 ? nothing : faults(result)}
  `
}

/** @param {Report} result */
const faults = (result) => html`<details ?open=${result.added === 0}>
  <summary>${words.import.faults}</summary>
  <div class="faults" tabindex="0" role="region" aria-label=${words.import.faults}>
    <table>
      <thead><tr><th scope="col">${words.import.line}</th><th scope="col">${words.import.field}</th><th scope="col">${words.import.problem}</th></tr></thead>
      <tbody>${result.faults.map(({ line, field, reason }) => html`<tr><td>${line}</td><td>${nameOf(field)}</td><td>${sentence(reason)}</td></tr>`)}</tbody>
    </table>
  </div>
  <p class="more">
    ${result.faulty > result.faults.length ? words.import.firstFaults(result.faults.length, result.faulty) : nothing}
    <button type="button" @click=${() => saveFaults(result)}>${words.import.saveFaults}</button>
  </p>
</details>`

/** @param {string | null} field */
const nameOf = (field) =>
  words.import.fields[/** @type {'title' | 'author' | 'year' | null} */ (field) ?? 'whole'] ?? field

/** @param {string} reason */
const sentence = (reason) => `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`

/** @param {Report} result */
function saveFaults({ faults }) {
  const head = [words.import.line, words.import.field, words.import.problem]
  const rows = faults.map(({ line, field, reason }) => [line, nameOf(field), reason])
  saveFile(csvOf([head, ...rows]), `${state.file?.name} errors.csv`)
}

function progress() {
  const { phase, note } = state
  const part = partSent()
  const text = phase && (part === undefined ? words.import.phases[phase] : words.import.phases.sending)
  return html`
    ${phase === undefined ? nothing : progressBar(part)}
    <p><span role="status">${text}${note}</span>${phase && part !== undefined ? ` ${Math.floor(part * 100)}%` : nothing}</p>`
}

function content() {
  const { file, columns, report, message, phase, skipExisting } = state
  const added = report?.added ?? 0
  const isReady = file !== undefined && added > 0 && phase === undefined
  const again = () => file && void checkFile(file)
  const skip = (/** @type {Event} */ event) => {
    state.skipExisting = /** @type {HTMLInputElement} */ (event.target).checked
    again()
  }
  const cancel = () => {
    if (state.phase === 'checking') {
      state.note = words.import.checkCancelled
      ended()
      // At once: a slow service may still owe what comes before the file.
    } else started('cancelling')
    abort.abort()
  }
  return html`
    <h2 id="transfer-title">${words.import.heading}</h2>
    <label class="drop">
      <input type="file" accept=".csv,.tsv,.txt,.ndjson,.jsonl,.json" @click=${forgetFile} @change=${(/** @type {Event} */ event) => choose(fileOf(event))} ?disabled=${isStoring()} />
      ${icon('import')}
      ${
        file === undefined
          ? html`<span>${words.import.choose}</span><small>${words.import.hint}</small>`
          : html`<b>${file.name}</b><small>${words.import.chooseAnother}</small>`
      }
    </label>
    ${progress()}
    <div aria-live="polite">${report === undefined ? nothing : results(report)}</div>
    <p class="error" role="alert">${message}</p>
    <label class="check"><input type="checkbox" .checked=${live(skipExisting)} ?disabled=${isStoring()} @change=${skip} /> ${words.import.skip}</label>
    ${columns?.view(isStoring(), again) ?? nothing}
    <div class="buttons">
      ${
        file !== undefined && phase === undefined && (message !== '' || report === undefined)
          ? html`<button type="button" class="main" @click=${again}>${words.import.checkAgain}</button>`
          : html`<button type="button" class="main" aria-disabled=${!isReady} @click=${() => isReady && track(words.import.importing(file.name), store(file), false)}>${words.import.import(added)}</button>`
      }
      ${
        phase === 'checking' || phase === 'storing'
          ? html`<button type="button" @click=${cancel}>${words.import.cancel[phase]}</button>`
          : nothing
      }
      <button type="button" @click=${() => dialog.close()}>${words.close}</button>
    </div>
  `
}
