import { signal } from '@preact/signals-core'
import { html, nothing } from 'lit-html'
import { searchedWords } from '#search-words'
import { oneLine, searchFor, short } from './fields.js'
import { splitByMatches } from './found.js'
import { readPage } from './pages.js'
import { Away, Refused, wasAborted } from './service.js'
import { words } from './words.js'

/** How long typing has to pause before authors are searched, in milliseconds. */
const PAUSE = 250

/** How many books are searched for authors, and how many authors are suggested at most. */
const [BOOKS, MOST] = [100, 4]

/** Suggests authors in the catalogue for a field. Choosing one replaces what is typed there. */
export class Authors {
  #found = signal(/** @type {readonly string[]} */ ([]))
  #abort = new AbortController()
  #timer = 0

  /** Searches for authors whose names contain all words of a text, for the field that has the focus. @param {string} typed */
  look(typed) {
    this.forget()
    const { signal } = this.#abort
    const field = document.activeElement
    const searched = searchedWords(typed)
    if (searched.length > 0)
      this.#timer = setTimeout(() => {
        if (document.activeElement === field) void this.#read(typed, searched, signal, field)
      }, PAUSE)
  }

  /** Removes the suggestions, and cancels the search for others. */
  forget() {
    clearTimeout(this.#timer)
    this.#abort.abort()
    this.#abort = new AbortController()
    this.#found.value = []
  }

  /** @param {(author: string) => void} choose */
  view(choose) {
    if (this.#found.value.length === 0) return nothing
    return html`<div class="suggestions" role="group" aria-label=${words.editor.suggestions}>
      ${this.#found.value.map((author) => html`<button type="button" dir="auto" @click=${() => choose(author)}>${short(oneLine(author))}</button>`)}
    </div>`
  }

  /** @param {string} typed @param {readonly string[]} searched @param {AbortSignal} signal @param {Element | null} field */
  async #read(typed, searched, signal, field) {
    const path = `/books?${new URLSearchParams({ q: searchFor(typed), limit: String(BOOKS) })}`
    try {
      const { books } = await readPage(path, { signal, isHint: true })
      // The search also matches titles.
      const authors = books
        .map(({ author }) => author)
        .filter((author) => author !== typed && has(author, searched))
      // Otherwise the buttons could move while one is pressed.
      if (document.activeElement === field) this.#found.value = [...new Set(authors)].slice(0, MOST)
    } catch (error) {
      // The field works without suggestions, so failures are not reported.
      if (!(error instanceof Away || error instanceof Refused || wasAborted(error))) throw error
    }
  }
}

/** @param {string} author @param {readonly string[]} searched */
const has = (author, searched) => searched.every((word) => splitByMatches(author, [word]).length > 1)
