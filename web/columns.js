import { html, nothing } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { assign, reactive } from './dialog.js'
import { cut, FIELDS } from './fields.js'
import { words } from './words.js'

/** @typedef {typeof FIELDS[number]} Field */

/** The most common encodings of files, by the names that the service knows. */
const ENCODINGS = [
  'UTF-8',
  'Windows-1252',
  'Windows-1250',
  'Windows-1251',
  'Windows-1253',
  'Windows-1254',
  'Windows-1255',
  'Windows-1256',
  'Windows-1257',
  'macintosh',
  'Shift_JIS',
  'GB18030',
  'Big5',
  'EUC-KR',
]

/** The length at which column names and cells are cut, in code points. */
const SHOWN = 60

/** The choice that no column contains the field. */
const NONE = ''

/** The columns of a CSV file that contain the fields, and its encoding, as the service found or the user chose them. */
export class Columns {
  isOpen = false
  encoding = 'utf-8'
  /** Whether the first line has the names of the columns. */
  hasHeader = true
  /** The column names, then the first rows. @type {string[][]} */
  rows = []
  /** The column of each field that the service found. @type {Partial<Record<Field, string | null>>} */
  found = {}
  /** The column of each field that the user chose. @type {Partial<Record<Field, string>>} */
  chosen = {}
  /** Whether the service could not tell which columns contain the fields. */
  isUnclear = false

  constructor() {
    reactive(this)
  }

  /** @param {import('./upload.js').Report} report of the check of the file. */
  update({ encoding, preview, columns, faults }) {
    const isUnclear = faults.some(({ code }) => code === 'columns')
    const isOpen = this.isOpen || isUnclear || faults.some(({ code }) => code === 'invalid_bytes')
    assign(/** @type {Columns} */ (this), { encoding, rows: preview, found: columns, isUnclear, isOpen })
  }

  get type() {
    return `text/csv; charset=${this.encoding}`
  }

  /** The user's choices, as parameters of POST /books/import. */
  get parameters() {
    const named = Object.entries(this.chosen).map(
      ([field, name]) => `${field}=${name === NONE ? '' : `"${name.replaceAll('"', '""')}"`}`,
    )
    return {
      columns: named.length === 0 ? undefined : named.join(','),
      header: this.hasHeader ? undefined : false,
    }
  }

  /** The fields for which neither the service nor the user has named a column. */
  get missing() {
    return FIELDS.filter((field) => this.#columnOf(field) === undefined)
  }

  /** A file that the service understands may have no column for a field, such as the year. @param {Field} field */
  #columnOf(field) {
    return this.chosen[field] ?? this.found[field] ?? (this.isUnclear ? undefined : NONE)
  }

  /** @param {boolean} isDisabled @param {() => void} changed called when the file has to be checked again. */
  view(isDisabled, changed) {
    const [names = [], ...rows] = this.rows
    const same = (/** @type {string | undefined} */ a, /** @type {string} */ b) =>
      a?.toLowerCase() === b.toLowerCase()
    /** The index of the first column of each name, in lower case. @type {Map<string, number>} */
    const places = new Map()
    for (const [index, name] of names.entries()) {
      const key = name.toLowerCase()
      if (name !== '' && !places.has(key)) places.set(key, index)
    }
    const choices = Array.from(places.values(), (index) => names[index] ?? '')
    const used = new Set(FIELDS.map((field) => places.get(this.#columnOf(field)?.toLowerCase() ?? '')))
    const usage = (/** @type {number} */ index) => (used.has(index) ? 'chosen' : '')
    const toggle = (/** @type {Event} */ event) => {
      this.isOpen = /** @type {HTMLDetailsElement} */ (event.target).open
    }
    const choose = (/** @type {Field} */ field) => (/** @type {Event} */ event) => {
      this.chosen = {
        ...this.chosen,
        [field]: /** @type {HTMLSelectElement} */ (event.target).value,
      }
      changed()
    }
    const decode = (/** @type {Event} */ event) => {
      this.encoding = /** @type {HTMLSelectElement} */ (event.target).value
      // Names that are not ASCII read differently in another encoding.
      this.chosen = Object.fromEntries(
        Object.entries(this.chosen).filter(([, name]) => !/[^\0-\x7f]/.test(name)),
      )
      changed()
    }
    const setHeader = (/** @type {Event} */ event) => {
      const hasHeader = /** @type {HTMLInputElement} */ (event.target).checked
      assign(/** @type {Columns} */ (this), { hasHeader, rows: [], found: {}, chosen: {} })
      changed()
    }
    // Without names, the columns have numbers.
    const nameOf = (/** @type {string} */ name) =>
      this.hasHeader ? cut(name, SHOWN) || words.import.noName : words.import.column(name)
    const select = (/** @type {Field} */ field) => {
      const chosen = this.#columnOf(field)
      return html`<label>${words.list[field]}
        <select ?disabled=${isDisabled} aria-invalid=${chosen === undefined} @change=${choose(field)}>
          ${chosen === undefined ? html`<option value="" disabled .selected=${true}>${words.import.chooseColumn}</option>` : nothing}
          ${choices.map((name) => html`<option value=${name} .selected=${live(same(chosen, name))}>${nameOf(name)}</option>`)}
          ${field === 'year' ? html`<option value=${NONE} .selected=${live(chosen === NONE)}>${words.import.noYears}</option>` : nothing}
        </select>
      </label>`
    }
    const encodings = ENCODINGS.some((name) => same(name, this.encoding))
      ? ENCODINGS
      : [this.encoding.toUpperCase(), ...ENCODINGS]
    return html`<details class="columns" .open=${live(this.isOpen)} @toggle=${toggle}>
      <summary>${words.import.columns}</summary>
      <div class="choices">
        ${FIELDS.map(select)}
        <label>${words.import.encoding}
          <select ?disabled=${isDisabled} @change=${decode}>
            ${encodings.map((name) => html`<option .selected=${live(same(name, this.encoding))}>${name}</option>`)}
          </select>
        </label>
        <label class="check"><input type="checkbox" .checked=${live(this.hasHeader)} ?disabled=${isDisabled} @change=${setHeader} /> ${words.import.header}</label>
      </div>
      <div class="preview" tabindex="0" role="region" aria-label=${words.import.preview}>
        <table>
          <thead><tr>${names.map((name, index) => html`<th scope="col" class=${usage(index)}>${nameOf(name)}</th>`)}</tr></thead>
          <tbody>${rows.map((cells) => html`<tr>${names.map((_, index) => html`<td dir="auto" class=${usage(index)}>${cut(cells[index] ?? '', SHOWN)}</td>`)}</tr>`)}</tbody>
        </table>
      </div>
    </details>`
  }
}
