import { html } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { Authors } from './authors.js'
import { csvOf } from './csv.js'
import { deleteLater } from './deletions.js'
import { restoreFocus } from './list.js'
import { doToEach, explain, keepOpen, openTask, remove } from './many.js'
import { showNotices, tell } from './notices.js'
import { selected } from './pages.js'
import { saveFile } from './save-file.js'
import { call } from './service.js'
import { noYear, readYear } from './text.js'
import { words } from './words.js'

/** @typedef {{ edited(): void, selectionChanged(): void } & import('./deletions.js').Listener} Listener */

/** How long a deletion may take before a notice shows its progress, in milliseconds. */
const SLOW = 400

/** The first name tells an import that the file was made for spreadsheets. */
const HEAD = ['book-catalogue id', 'title', 'author', 'year']

/** @param {Iterable<import('./service.js').Book>} books */
export function exportAsCsv(books) {
  const rows = Array.from(books, ({ id, title, author, year }) => [id, title, author, year])
  saveFile(csvOf([HEAD, ...rows]), 'books.csv')
}

/** Sets the author or year of the selected books. Those not reached stay selected. @param {Listener} listener */
export function editSelected({ edited, selectionChanged }) {
  const books = [...selected.values()]
  const draft = { author: '', year: '' }
  const authors = new Authors()
  const input =
    (/** @type {keyof typeof draft} */ name) =>
    (/** @type {Event} */ { target }) => {
      draft[name] = /** @type {HTMLInputElement} */ (target).value
      if (name === 'author') authors.look(draft.author, draw)
      draw()
    }
  const choose = (/** @type {string} */ author) => {
    draft.author = author
    authors.forget()
    draw()
    restoreFocus()
  }
  const draw = openTask({
    heading: words.many.set,
    text: words.many.setHint(books.length),
    fields: () => html`
      <label>${words.list.author} <input autocomplete="off" dir="auto" .value=${live(draft.author)} @input=${input('author')} /></label>
      ${authors.view(choose)}
      <label>${words.list.year} <input autocomplete="off" .value=${live(draft.year)} @input=${input('year')} /></label>`,
    isTyped: () => draft.author !== '' || draft.year !== '',
    action: words.many.setAction(books.length),
    running: words.many.savingNow(books.length),
    what: words.many.setting(books.length),
    begin() {
      const { author, year } = draft
      const number = readYear(year)
      if (year.trim() !== '' && number === undefined) return noYear(year)
      const body = { ...(author !== '' && { author }), ...(number !== undefined && { year: number }) }
      if (Object.keys(body).length === 0) return words.many.nothingSet
      return {
        books,
        act: ({ id }, tag) => call('PUT', `/book/${id}`, { body, headers: { 'if-match': tag } }),
      }
    },
    tell: (outcome) => explain(outcome, words.many.saved(outcome.done.length)),
    ended({ done, changed, gone }) {
      for (const { id } of [...done, ...changed, ...gone]) selected.delete(id)
      selectionChanged()
      edited()
    },
  })
}

/** Deletes the selected books later, unless the user undoes it. Changed books are kept. @param {Listener} listener */
export function deleteSelected(listener) {
  const books = [...selected.values()]
  async function send() {
    const stop = new AbortController()
    let reached = 0
    let dismissSlow = () => {}
    const timer = setTimeout(() => {
      const actions = [{ label: words.many.stop, run: () => stop.abort() }]
      const text = words.many.deletingNow(books.length)
      const progress = () => reached / books.length
      dismissSlow = tell({ text, actions, progress }, Number.POSITIVE_INFINITY)
    }, SLOW)
    const outcome = await doToEach(books, remove, stop.signal, (count) => {
      reached = count
      showNotices()
    })
    clearTimeout(timer)
    dismissSlow()
    const { length } = outcome.done
    return length === books.length ? {} : { ...outcome, text: explain(outcome, words.many.deleted(length)) }
  }
  const { deleted, deleting } = words.many
  const { length } = books
  void keepOpen(deleteLater({ books, text: deleted(length), what: deleting(length), send }, listener))
  listener.selectionChanged()
}
