import { effect, untracked } from '@preact/signals-core'
import { html, nothing } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { Authors } from './authors.js'
import { csvOf } from './csv.js'
import { deleteLater } from './deletions.js'
import { reactive, restoreFocus, tell } from './dialog.js'
import { saveFile } from './export.js'
import { noYear, readYear } from './fields.js'
import { icon } from './icons.js'
import { rowsInSight } from './list.js'
import { doToEach, explain, openTask, remove } from './many.js'
import { call, Refused } from './service.js'
import { deselect, isCurrent, load, MOST, readRows, select, store } from './store.js'
import { words } from './words.js'

/** Selecting books, and what to do with the selected ones. */

/** @typedef {import('./pages.js').BookPages} BookPages */

/** How long a deletion may take before a notice shows its progress, in milliseconds. */
const SLOW = 400

/** The first name tells an import that the file was made for spreadsheets. */
const HEAD = ['book-catalogue id', 'title', 'author', 'year']

/** The book at which a range begins, and its list. @type {{ pages: BookPages, id: number } | undefined} */
let anchor

/** @param {number} row @param {boolean} isRange selects all up to it. @param {number} [from] see `rangeTo`. */
export async function selectRow(row, isRange, from) {
  const { pages, selected } = store
  if (isRange) await selectRows(rangeTo(pages, row, from))
  else if (isCurrent(pages)) toggle(pages, row)
  drawBoxes(selected)
}

/** Selects all books of the list, or none if all are selected. */
export async function selectAll() {
  const { pages, selected } = store
  if (pages.isComplete && selected.size >= pages.length) select([], true)
  else if (pages.length > MOST) tellTooMany()
  else await selectRows({ first: 0, end: MOST }, true)
  drawBoxes(selected)
}

/** The browser has changed the box that was clicked, even if the selection is the same. @param {typeof store.selected} before */
function drawBoxes(before) {
  if (store.selected === before) store.selected = new Map(before)
}

/** Selects all likely duplicates except, of each book, the one that was added first. */
export function selectCopies() {
  select(
    listed().filter((_, row) => store.pages.isCopy(row)),
    true,
  )
}

/** Saves the list once all of it is there. After an error it is read again. */
export async function exportListed() {
  const { pages } = store
  if (!pages || !isCurrent(pages)) return void tell({ text: words.list.loading })
  const books = await readRows(0, Infinity)
  if (books) exportAsCsv(books)
}

/** The books of the list, which has to be in memory as a whole. */
const listed = () =>
  Array.from({ length: store.pages?.length ?? 0 }, (_, row) => store.pages.book(row)).filter(
    (book) => book !== undefined,
  )

// A book whose duplicates are gone leaves their list.
effect(() => {
  if (!store.pages?.isOfDuplicates) return
  const shown = new Set(listed().map(({ id }) => id))
  untracked(() => deselect([...store.selected.keys()].filter((id) => !shown.has(id))))
})

const tellTooMany = () => tell({ text: words.selection.tooMany(MOST) })

/** @param {{ first: number, end: number }} rows @param {boolean} [areAll] whether the list is to end with them. */
async function selectRows({ first, end }, areAll = false) {
  const { pages } = store
  if (end - first > MOST) return void tellTooMany()
  const read = await readRows(first, end)
  if (!read || pages.query !== store.pages.query || !isCurrent(store.pages)) return
  // The list may not have been counted before.
  if (areAll && !store.pages.isComplete) tellTooMany()
  else selectMore(read)
}

/** @param {readonly import('./fields.js').Book[]} books that are selected too, unless these are too many. */
function selectMore(books) {
  const ids = new Set([...store.selected.keys(), ...books.map(({ id }) => id)])
  if (ids.size > MOST) tellTooMany()
  else select(books)
}

function clear() {
  select([], true)
  restoreFocus()
}

export function buttons() {
  const { pages, selected } = store
  return html`
    ${
      pages.count !== undefined && selected.size < pages.count && pages.count <= MOST
        ? html`<button type="button" class="quiet" @click=${selectAll}>${icon('all')}<span>${words.selection.selectAllOf(pages.count)}</span></button>`
        : nothing
    }
    <button type="button" class="quiet" @click=${editSelected}>${icon('edit')}<span>${words.selection.edit}</span></button>
    <button type="button" class="quiet" @click=${() => exportAsCsv(selected.values())}>${icon('export')}<span>${words.selection.export}</span></button>
    <button type="button" class="quiet delete" @click=${deleteSelected}>${icon('delete')}<span>${words.selection.delete}</span></button>
    <button type="button" class="quiet" aria-label=${words.selection.clear} title=${words.selection.clear} @click=${clear}>${icon('close')}</button>
  `
}

/** Selects or deselects the book of a row. @param {BookPages} pages @param {number} row */
function toggle(pages, row) {
  const book = pages.book(row)
  if (book === undefined) return
  anchor = { pages, id: book.id }
  if (store.selected.has(book.id)) deselect([book.id])
  else selectMore([book])
}

/**
 * The rows from the anchor to another one.
 * @param {BookPages} pages @param {number} row
 * @param {number} [from] its book becomes the anchor, unless it is selected already.
 */
function rangeTo(pages, row, from = row) {
  const book = pages.book(from)
  const isNew = from !== row && book !== undefined && !store.selected.has(book.id)
  const kept = isNew || anchor?.pages !== pages ? undefined : pages.rowOf(anchor.id)
  if (kept === undefined) anchor = book && { pages, id: book.id }
  const begin = kept ?? from
  return { first: Math.min(begin, row), end: Math.max(begin, row) + 1 }
}

/** @param {Iterable<import('./fields.js').Book>} books */
function exportAsCsv(books) {
  const rows = Array.from(books, ({ id, title, author, year }) => [id, title, author, year])
  saveFile(csvOf([HEAD, ...rows]), 'books.csv')
}

/** Sets the author or year of the selected books. Those not reached stay selected. */
function editSelected() {
  const books = [...store.selected.values()]
  const draft = reactive({ author: '', year: '' })
  const authors = new Authors()
  const input =
    (/** @type {keyof typeof draft} */ name) =>
    (/** @type {Event} */ { target }) => {
      draft[name] = /** @type {HTMLInputElement} */ (target).value
      if (name === 'author') authors.look(draft.author)
    }
  const choose = (/** @type {string} */ author) => {
    draft.author = author
    authors.forget()
    restoreFocus()
  }
  openTask({
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
    ended({ done, changed, gone, error }) {
      deselect([...done, ...changed, ...gone].map(({ id }) => id))
      restoreFocus()
      // That would ask at once for the password that was not given.
      if (!(error instanceof Refused && error.status === 401)) load(rowsInSight().top)
    },
  })
}

/** Deletes the selected books later, unless the user undoes it. Changed books are kept. */
function deleteSelected() {
  const books = [...store.selected.values()]
  async function send() {
    const stop = new AbortController()
    const state = reactive({ reached: 0 })
    let dismissSlow = () => {}
    const timer = setTimeout(() => {
      const actions = [{ label: words.many.stop, run: () => stop.abort() }]
      const text = words.many.deletingNow(books.length)
      const progress = () => state.reached / books.length
      dismissSlow = tell({ text, actions, progress, stays: true })
    }, SLOW)
    const outcome = await doToEach(books, remove, stop.signal, (count) => {
      state.reached = count
    })
    clearTimeout(timer)
    dismissSlow()
    const { length } = outcome.done
    return length === books.length ? {} : { ...outcome, text: explain(outcome, words.many.deleted(length)) }
  }
  const { deleted, deleting } = words.many
  const { length } = books
  deleteLater({ books, text: deleted(length), what: deleting(length), send, asks: true })
  restoreFocus()
}
