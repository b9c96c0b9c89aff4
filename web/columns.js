import { html, nothing } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { firstRows } from './csv.js'
import { FIELDS, Refused } from './service.js'
import { cut } from './text.js'
import { check } from './upload.js'
import { words } from './words.js'

/** @typedef {typeof FIELDS[number]} Field */

/** Those that files have most often, by the names that the service knows. */
const ENCODINGS = [
  'UTF-8',
  'Windows-1252',
  'Windows-1250',
  'Windows-1251',
  'macintosh',
  'Shift_JIS',
  'GB18030',
  'Big5',
  'EUC-KR',
]

/** As much of a cell as is shown, in characters. */
const SHOWN = 60

/** As many faults as the service reports. */
const MOST_FAULTS = 100

/** A column of the service's own: the fields that are not asked for are read from it. */
const OTHER = '-'

/** What says that there is no such column, as a choice. */
const NONE = -1

/** The start of a CSV file, and in which of its columns the fields are. */
export class Columns {
  isOpen = false
  encoding = 'UTF-8'
  /** The first line, and some rows. @type {string[][]} */
  rows = []
  /** Where the service finds fields by itself. @type {Partial<Record<Field, number>> | undefined} */
  #found
  /** Where the user says that they are. @type {Partial<Record<Field, number>>} */
  #chosen = {}

  /** @param {File} file */
  constructor(file) {
    this.file = file
  }

  /**
   * Reads the start of the file. Its first rows are shown at once if they are not in the encoding.
   * @throws {DOMException} as when the file was deleted meanwhile.
   */
  async read() {
    this.rows = await firstRows(this.file, this.encoding)
    if (this.rows.flat().some((cell) => cell.includes('\ufffd'))) this.isOpen = true
  }

  /** The media type of the file. */
  get type() {
    return this.encoding === ENCODINGS[0] ? 'text/csv' : `text/csv; charset=${this.encoding}`
  }

  /** What to tell the service beyond what it finds by itself, as `columns` has it. */
  get parameter() {
    const named = Object.entries(this.#chosen).map(
      ([field, index]) => `${field}=${index === NONE ? '' : quoted(this.#name(index))}`,
    )
    return named.length === 0 ? undefined : named.join(',')
  }

  /** The fields for which neither the service nor the user has a column. */
  get missing() {
    return FIELDS.filter((field) => this.#indexOf(field) === undefined)
  }

  /** @param {Field} field */
  #indexOf(field) {
    return this.#chosen[field] ?? this.#found?.[field]
  }

  /** @param {number} index */
  #name(index) {
    return (this.rows[0]?.[index] ?? '').replace(/^="(.*)"$/s, '$1').trim()
  }

  /**
   * Asks the service where it finds each field: in the answer to a file of these columns, each row of which has a byte
   * that is no character in another one. The fault of a row names the field that is read there.
   * @param {AbortSignal} signal
   * @throws {Away | DOMException} the last when the signal has aborted it.
   */
  async find(signal) {
    if (this.#found !== undefined) return
    const names = this.rows[0] ?? []
    /** @type {Partial<Record<Field, number>>} */
    const found = {}
    for (const field of FIELDS) {
      const others = FIELDS.filter((each) => each !== field).map((each) => `${each}=${OTHER}`)
      for (let first = 0; first < names.length && found[field] === undefined; first += MOST_FAULTS) {
        const index = await this.#findAmong(first, field, others.join(','), signal)
        if (index !== undefined) found[field] = index
      }
    }
    this.#found = found
  }

  /**
   * Where the service finds a field, if that is one of as many columns as it reports faults.
   * @param {number} first @param {Field} field @param {string} columns what it is told. @param {AbortSignal} signal
   * @returns {Promise<number | undefined>}
   */
  async #findAmong(first, field, columns, signal) {
    const names = this.rows[0] ?? []
    const head = [...names, OTHER].map(quoted).join(',')
    const rows = names.slice(first, first + MOST_FAULTS).flatMap((_, row) => {
      const cells = [...names, OTHER].map((_, index) => (index === first + row ? '1\0' : '1')).join(',')
      const [before = '', after = ''] = cells.split('\0')
      return [`\n${before}`, new Uint8Array([0xff]), after]
    })
    try {
      const { faults } = await check(new Blob([head, ...rows]), 'text/csv', { columns }, signal)
      const fault = faults.find((each) => each.field === field)
      // The first line has the names; a name may have several lines.
      return fault && first + fault.line - 1 - head.split(/\r\n|\r|\n/).length
    } catch (error) {
      // It has no column for this field, or more than one.
      if (error instanceof Refused) return undefined
      throw error
    }
  }

  /**
   * @param {boolean} isDisabled
   * @param {boolean} isWrong whether the service did not understand the file.
   * @param {{ opened(): void, changed(): void, decoded(): void }} listener told when a check of the file has to be repeated,
   *   and when the file has to be read anew before.
   */
  view(isDisabled, isWrong, { opened, changed, decoded }) {
    const [names = [], ...rows] = this.rows
    const isFirst = (/** @type {number} */ index) =>
      this.#name(index) !== '' &&
      names.findIndex((_, each) => this.#name(each).toLowerCase() === this.#name(index).toLowerCase()) ===
        index
    const choices = [...names.keys()].filter(isFirst)
    const toggle = (/** @type {Event} */ event) => {
      this.isOpen = /** @type {HTMLDetailsElement} */ (event.target).open
      if (this.isOpen) opened()
    }
    const choose = (/** @type {Field} */ field) => (/** @type {Event} */ event) => {
      this.#chosen[field] = Number(/** @type {HTMLSelectElement} */ (event.target).value)
      changed()
    }
    const decode = (/** @type {Event} */ event) => {
      this.encoding = /** @type {HTMLSelectElement} */ (event.target).value
      this.#found = undefined
      decoded()
    }
    const select = (/** @type {Field} */ field) => {
      const chosen = this.#indexOf(field)
      return html`<label>${words.list[field]}
        <select ?disabled=${isDisabled} aria-invalid=${isWrong && this.#found !== undefined && chosen === undefined} @change=${choose(field)}>
          ${chosen === undefined ? html`<option value="" disabled .selected=${true}>${words.import.chooseColumn}</option>` : nothing}
          ${choices.map((index) => html`<option value=${index} .selected=${live(index === chosen)}>${cut(this.#name(index), SHOWN)}</option>`)}
          ${field === 'year' ? html`<option value=${NONE} .selected=${live(chosen === NONE)}>${words.import.noYears}</option>` : nothing}
        </select>
      </label>`
    }
    const fieldOf = (/** @type {number} */ index) => FIELDS.find((field) => this.#indexOf(field) === index)
    return html`<details class="columns" .open=${live(this.isOpen)} @toggle=${toggle}>
      <summary>${words.import.columns}</summary>
      <div class="choices">
        ${FIELDS.map(select)}
        <label>${words.import.encoding}
          <select ?disabled=${isDisabled} @change=${decode}>
            ${ENCODINGS.map((name) => html`<option .selected=${live(name === this.encoding)}>${name}</option>`)}
          </select>
        </label>
      </div>
      <div class="preview" tabindex="0" role="region" aria-label=${words.import.preview}>
        <table>
          <thead><tr>${names.map((name, index) => html`<th scope="col" class=${fieldOf(index) ? 'chosen' : ''}>${cut(name, SHOWN) || words.import.noName}</th>`)}</tr></thead>
          <tbody>${rows.map((cells) => html`<tr>${names.map((_, index) => html`<td dir="auto" class=${fieldOf(index) ? 'chosen' : ''}>${cut(cells[index] ?? '', SHOWN)}</td>`)}</tr>`)}</tbody>
        </table>
      </div>
    </details>`
  }
}

/** @param {string} name */
const quoted = (name) => `"${name.replaceAll('"', '""')}"`
