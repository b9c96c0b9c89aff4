import { html, nothing } from 'lit-html'
import { searchedWords } from '#search-words'
import { splitByMatches } from './found.js'
import { Away, call, Refused, wasAborted } from './service.js'
import { oneLine, searchFor, short } from './text.js'
import { words } from './words.js'

/** @typedef {import('./service.js').Book} Book */

/** How long nothing more is typed before authors are looked for, in milliseconds. */
const PAUSE = 250

/** The books in which they are looked for, and how many authors are suggested at most. */
const [BOOKS, MOST] = [100, 4]

/** The authors in the catalogue that are suggested for a field: a choice of one replaces what is typed there. */
export class Authors {
  /** @type {string[]} */
  #found = []
  #abort = new AbortController()
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer

  /**
   * Looks for authors whose names have what is typed.
   * @param {string} typed
   * @param {() => void} changed called when others are suggested.
   */
  look(typed, changed) {
    this.forget()
    const { signal } = this.#abort
    const searched = searchedWords(typed)
    if (searched.length > 0)
      this.#timer = setTimeout(() => void this.#read(typed, searched, signal).then(changed), PAUSE)
  }

  /** Suggests none, until something else is typed. */
  forget() {
    clearTimeout(this.#timer)
    this.#abort.abort()
    this.#abort = new AbortController()
    this.#found = []
  }

  /** @param {(author: string) => void} choose */
  view(choose) {
    if (this.#found.length === 0) return nothing
    return html`<div class="suggestions" role="group" aria-label=${words.editor.suggestions}>
      ${this.#found.map((author) => html`<button type="button" dir="auto" @click=${() => choose(author)}>${short(oneLine(author))}</button>`)}
    </div>`
  }

  /** @param {string} typed @param {readonly string[]} searched @param {AbortSignal} signal */
  async #read(typed, searched, signal) {
    const path = `/books?${new URLSearchParams({ q: searchFor(typed), limit: String(BOOKS) })}`
    try {
      /** @type {{ data: Book[] }} */
      const { data } = await (await call('GET', path, { signal })).json()
      // The search has also looked into the titles.
      const authors = data
        .map(({ author }) => author)
        .filter((author) => author !== typed && has(author, searched))
      this.#found = [...new Set(authors)].slice(0, MOST)
    } catch (error) {
      // They are only suggestions.
      if (!(error instanceof Away || error instanceof Refused || wasAborted(error))) throw error
    }
  }
}

/** @param {string} author @param {readonly string[]} searched */
const has = (author, searched) => searched.every((word) => splitByMatches(author, [word]).length > 1)
