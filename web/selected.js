import { html } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { csvOf } from './csv.js'
import { UNDO_TIME } from './deletions.js'
import { doToEach, explain, keepOpen, openTask, remove } from './many.js'
import { DISMISS, tell } from './notices.js'
import { hidden } from './pages.js'
import { pending } from './pending.js'
import { saveFile } from './save-file.js'
import { select, selected } from './selection.js'
import { call } from './service.js'
import { noYear, readYear } from './text.js'
import { words } from './words.js'

/**
 * @typedef {{ edited(): void, selectionChanged(): void, filter(): string } & import('./deletions.js').Listener} Listener
 */

/** How long a deletion may take before the page says so, in milliseconds. */
const SLOW = 400

/** By this name an import knows that the file is one for spreadsheets. */
const HEAD = ['book-catalogue id', 'title', 'author', 'year']

/** Saves the books that are selected as a CSV file. */
export function exportSelected() {
  const rows = Array.from(selected.values(), ({ id, title, author, year }) => [id, title, author, year])
  saveFile(csvOf([HEAD, ...rows]), 'books.csv')
}

/** Sets the author or the year of the books that are selected. Those that were not reached stay selected. @param {Listener} listener */
export function editSelected({ edited, selectionChanged }) {
  const books = [...selected.values()]
  let [author, year] = ['', '']
  const value = (/** @type {Event} */ { target }) => /** @type {HTMLInputElement} */ (target).value
  openTask({
    heading: words.many.set,
    text: words.many.setHint(books.length),
    fields: () => html`
      <label>${words.list.author} <input autocomplete="off" dir="auto" .value=${live(author)} @input=${(
        /** @type {Event} */ event,
      ) => {
        author = value(event)
      }} /></label>
      <label>${words.list.year} <input autocomplete="off" inputmode="numeric" .value=${live(year)} @input=${(
        /** @type {Event} */ event,
      ) => {
        year = value(event)
      }} /></label>`,
    action: words.many.setAction(books.length),
    what: words.many.setting(books.length),
    begin() {
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
    ended({ done, changed }) {
      for (const { id } of [...done, ...changed]) selected.delete(id)
      selectionChanged()
      edited()
    },
  })
}

/** Deletes the books that are selected some seconds later, unless the user undoes it or somebody has changed them. @param {Listener} listener */
export function deleteSelected(listener) {
  const books = [...selected.values()]
  const filter = listener.filter()
  const stop = new AbortController()
  /** @type {Promise<string | undefined> | undefined} */
  let outcome
  selected.clear()
  for (const { id } of books) hidden.add(id)
  listener.deletionsChanged()
  listener.selectionChanged()
  const { promise: settled, resolve: settle } = Promise.withResolvers()
  void keepOpen(settled)
  const actions = [{ label: words.undo, run: undo }]
  const dismiss = tell({ text: words.many.deleted(books.length), actions }, UNDO_TIME, send)
  const deletion = { what: words.many.deleting(books.length), finish: send }
  pending.add(deletion)

  function undo() {
    show(books)
    reselect(books)
    end()
  }

  /** Selects them again, unless others are listed now. @param {typeof books} some */
  function reselect(some) {
    if (listener.filter() === filter) select(some)
    listener.selectionChanged()
  }

  /** @param {typeof books} some */
  function show(some) {
    for (const { id } of some) hidden.delete(id)
    listener.deletionsChanged()
  }

  function end() {
    pending.delete(deletion)
    settle(undefined)
  }

  function send() {
    outcome ??= request()
    return outcome
  }

  async function request() {
    dismiss()
    let dismissSlow = () => {}
    const timer = setTimeout(() => {
      const actions = [{ label: words.many.stop, run: () => stop.abort() }]
      dismissSlow = tell({ text: words.many.deletingNow(books.length), actions }, Number.POSITIVE_INFINITY)
    }, SLOW)
    const result = await doToEach(books, remove, stop.signal, () => {})
    clearTimeout(timer)
    dismissSlow()
    end()
    listener.deleted(...result.done.map(({ id }) => id))
    if (result.done.length === books.length) return undefined
    show([...result.changed, ...result.left])
    reselect(result.left)
    const text = explain(result, words.many.deleted(result.done.length))
    tell({ text, actions: [DISMISS] }, Number.POSITIVE_INFINITY)
    return text
  }
}
