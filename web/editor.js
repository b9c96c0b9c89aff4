import { html, nothing } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { created, deleted, replaced, updated } from './changes.js'
import { deleteBook } from './deletions.js'
import { Dialog, find, openDialog, reactive, restoreFocus, tell } from './dialog.js'
import { Edit, explain, read } from './edit.js'
import { cut, draftOf, FIELDS, legible, oneLine, quote, short, writeYear } from './fields.js'
import { icon } from './icons.js'
import { reveal } from './list.js'
import { Away, Refused, track } from './service.js'
import { keepDraft } from './session.js'
import { isCurrent, linked, NEW, nameLinked, readRows, store } from './store.js'
import { words } from './words.js'

/** @typedef {import('./fields.js').Book} Book */

/** How long reading a book may take before a notice says so, in milliseconds. */
const SLOW = 400

/** How much of each text the comparison of two versions shows, in code points. */
const COMPARED = 2000

/** The edit that the dialog shows, or showed last. */
const state = reactive({ edit: new Edit() })
/** The edits whose save the service has not answered yet, even if their dialog is closed. @type {Set<Edit>} */
const saving = new Set()
/** The edits whose save failed after their dialog was closed, each with what removes its notice. @type {Map<Edit, () => void>} */
const failed = new Map()
/** The element that had the focus before the user was asked whether to discard. @type {Element | null} */
let before = null
/** What follows if the user discards. */
let next = () => {}
/** The edits that are kept over a reload, until something else is typed. @type {Edit[]} */
let kept = []
/** Cancels the reading of the book that is to be opened next. */
let opening = new AbortController()

/** @returns {AbortSignal} aborted as soon as the user does something else. */
function beginOpening() {
  opening.abort()
  opening = new AbortController()
  return opening.signal
}

const dialog = new Dialog('editor', content, {
  closed: () => nameLinked(undefined),
  stays: () => true,
  refused: answerEscape,
})

/** @param {Edit} edit */
const isShown = (edit) => edit === state.edit && dialog.isOpen

/** What would be lost with the page, first what the dialog shows. Logging out removes it, and says what has failed. */
function unsaved() {
  const { edit } = state
  if (find('#editor') === null) return []
  return isShown(edit) && edit.isChanged ? [edit, ...failed.keys()] : [...failed.keys()]
}

const close = () => dialog.close()

const narrow = matchMedia('(max-width: 40rem)')
// The list beside the panel could not be used, as when a phone is turned.
narrow.addEventListener('change', () => {
  const { activeElement } = document
  if (openDialog() !== find('#editor')) return
  dialog.close()
  dialog.show(narrow.matches)
  if (activeElement instanceof HTMLElement) activeElement.focus()
})

// A click beside its fields gives the dialog itself the focus.
find('#editor')?.addEventListener('keydown', pressed)

// If the user does something else before the book arrives, its dialog does not open. Logging in is part of the wait.
for (const type of ['click', 'input', 'keydown', 'drop'])
  addEventListener(
    type,
    (event) => {
      if (event instanceof KeyboardEvent && event.key !== 'Escape') return
      if (event.target instanceof Element && event.target.closest('#login')) return
      opening.abort()
    },
    true,
  )
// Makes the browser ask before it leaves the web page.
addEventListener('beforeunload', (event) => {
  if (unsaved().some((edit) => !kept.includes(edit))) event.preventDefault()
})
// The web page itself offers a reload when a proxy answers instead of the service. What is typed is kept for it.
addEventListener('reloading', () => {
  const edits = unsaved()
  const parts = edits.map(({ book, tag, draft, theirs, message }) => ({ book, tag, draft, theirs, message }))
  if (edits.length > 0 && keepDraft(JSON.stringify(parts))) kept = edits
})

export const addBook = () => leave(() => open(new Edit()))

/** @param {number} id */
export const editBook = (id) => leave(() => void readBook(id))

/** Opens or closes what the address names, as after a step back. */
export function openLinked() {
  const what = linked()
  if (what === shown()) return
  opening.abort()
  if (what === undefined) leave(close)
  else if (what === NEW) addBook()
  else editBook(what)
}

/** What the dialog shows, as the address names it. */
const shown = () => (dialog.isOpen ? (state.edit.book?.id ?? NEW) : undefined)

/** Continues with what `keepDraft` has kept over a reload. @param {string} text */
export function resume(text) {
  // An earlier version of the page kept one alone.
  for (const part of [JSON.parse(text)].flat()) {
    const edit = Object.assign(new Edit(part), part)
    if (dialog.isOpen) tellFailed(edit)
    else open(edit)
  }
}

/** Goes on once the user has discarded everything that is typed. @param {() => void} then */
export function leaveAll(then) {
  leave(() => {
    const [edit] = failed.keys()
    if (edit === undefined) return then()
    open(edit)
    leaveAll(then)
  })
}

/** @param {number} id */
async function readBook(id) {
  const seen = store.view
  const signal = beginOpening()
  let dismiss = () => {}
  const timer = setTimeout(() => {
    if (openDialog() === undefined) dismiss = tell({ text: words.editor.opening, stays: true })
  }, SLOW)
  signal.addEventListener('abort', () => dismiss())
  try {
    const known = [...saving, ...failed.keys()].find(({ book }) => book?.id === id)
    const found = known ? undefined : await read(id, { signal })
    if (found) replaced(found.book)
    const edit = known ?? new Edit(found)
    if (!signal.aborted && store.view === seen) open(edit)
  } catch (error) {
    if (signal.aborted) return
    tell({ text: error instanceof Away ? words.moment(error.message) : explain(error) })
    if (!(error instanceof Refused) || error.status !== 404) return
    deleted(id)
    // Otherwise the next book would replace this link in the history, and a step back would leave the page.
    if (linked() === id) nameLinked(shown())
  } finally {
    clearTimeout(timer)
    dismiss()
    // The address may have led to it. Not before the click that kept it from opening has led elsewhere.
    if (signal.aborted) setTimeout(() => linked() === id && nameLinked(shown()))
  }
}

/** @param {Edit} edit */
function open(edit) {
  edit.isLeaving = false
  state.edit = edit
  failed.get(edit)?.()
  failed.delete(edit)
  nameLinked(edit.book?.id ?? NEW)
  if (dialog.isOpen) focusOn('[name=title]')
  // Beside the list, or over all of a narrow window.
  dialog.show(narrow.matches)
  if (edit.book) void edit.lookForTwins()
}

/** Goes on with something else. If something typed would be lost, asks the user first. @param {() => void} then */
function leave(then) {
  const { edit } = state
  if (!isShown(edit) || edit.isBusy || !edit.isChanged) return then()
  before = document.activeElement
  edit.isLeaving = true
  next = then
  nameLinked(shown())
  focusOn('.buttons .main')
}

/** @param {Edit} edit */
function discard(edit) {
  edit.draft = edit.original
  edit.isLeaving = false
  next()
}

/** Leads to the book before or after this one in the list, which is scrolled to it. @param {1 | -1} step */
function go(step) {
  const { book } = state.edit
  if (book === undefined) return
  leave(async () => {
    const { pages } = store
    const signal = beginOpening()
    const row = await pages?.find(book.id)
    if (signal.aborted) return
    // Otherwise the list says what is wrong.
    if (row === undefined && pages && isCurrent(pages) && pages.error === undefined)
      tell({ text: words.editor.notNear })
    if (row === undefined) return
    const [other] = (await readRows(row + step, row + step + 1)) ?? []
    if (other === undefined || signal.aborted) return
    reveal(row + step)
    void readBook(other.id)
  })
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  const { key, altKey, isComposing } = event
  const step = altKey && (key === 'ArrowDown' ? 1 : key === 'ArrowUp' && -1)
  // A modal dialog has the event `cancel` instead.
  const isEscape = key === 'Escape' && !isComposing && openDialog() === undefined
  if (!step && !isEscape) return
  event.preventDefault()
  if (step) go(step)
  else answerEscape()
}

/** @param {Edit} edit */
function stay(edit) {
  edit.isLeaving = false
  if (before instanceof HTMLElement) before.focus()
  restoreFocus(find('#editor') ?? undefined)
}

/** Escape answers the question whether to discard with "no". */
function answerEscape() {
  if (state.edit.isLeaving) stay(state.edit)
  else leave(close)
}

/** @param {string} selector */
const focusOn = (selector) => find(`#editor ${selector}`)?.focus()

/** @param {Edit} edit @param {boolean} [isMore] whether to add another book after it. */
function save(edit, isMore = false) {
  if (edit.isBusy) return
  const isNew = edit.book === undefined
  const title = quote(edit.draft.title)
  track(isNew ? words.editor.adding(title) : words.editor.saving(title), attempt())

  async function attempt() {
    saving.add(edit)
    const book = await edit.save()
    saving.delete(edit)
    if (edit.theirs === null && edit.book) deleted(edit.book.id)
    // The list shows what is stored, whatever the user decides. What is saved then has to be in it.
    if (edit.theirs && !book) replaced(edit.theirs)
    if (book) {
      if (isShown(edit)) {
        if (isMore)
          open(Object.assign(new Edit(), { added: { after: edit, count: (edit.added?.count ?? 0) + 1 } }))
        else close()
      }
      if (state.edit.added?.after !== edit)
        tell({ text: isNew ? words.editor.added(title) : words.editor.saved(title) })
      void (isNew ? created(book) : updated(book))
      return undefined
    }
    if (isShown(edit)) {
      if (edit.fault) focusOn(`[name=${edit.fault}]`)
      // Not on a button that overwrites: the key that saved would press it too.
      else if (edit.theirs !== undefined) focusOn('#conflict-title')
      restoreFocus(find('#editor') ?? undefined)
      return undefined
    }
    return tellFailed(edit)
  }
}

/** Offers to open the dialog of a failed save again. @param {Edit} edit @returns what has failed. */
function tellFailed(edit) {
  const title = quote(edit.draft.title)
  const text = edit.book ? words.editor.notSaved(title) : words.editor.notAdded(title)
  const actions = [
    // The notice stays until the dialog is open: the user may prefer to keep what is typed in another.
    { label: words.open, run: () => leave(() => open(edit)), forPage: true, staysAfter: true },
    { label: words.discard, run: () => void failed.delete(edit) },
  ]
  failed.set(edit, tell({ text: `${text} ${edit.message || `${conflict(edit)}.`}`, actions, stays: true }))
  return text
}

/** @param {Edit} edit */
function takeTheirs({ theirs, tag }) {
  if (!theirs) return
  state.edit = new Edit({ book: theirs, tag })
  focusOn('[name=title]')
}

/** @param {Edit} edit */
function addAgain(edit) {
  edit.book = undefined
  edit.theirs = undefined
  // All of it is unsaved now, whether typed or not.
  edit.original = draftOf(undefined)
  save(edit)
}

/** @param {Edit} edit */
function remove({ book, tag }) {
  if (book === undefined) return
  leave(() => {
    deleteBook(book, tag)
    close()
  })
}

/** @param {Edit} edit */
const conflict = ({ theirs }) => words.conflict[theirs === null ? 'deleted' : 'changed']

/** @param {Edit} edit @param {keyof Edit['draft']} name */
const input = (edit, name) => (/** @type {InputEvent} */ event) => {
  edit.draft = { ...edit.draft, [name]: /** @type {HTMLInputElement} */ (event.target).value }
  edit.isLeaving = false
  kept = []
  if (name !== 'year') edit.twins = []
  if (name === 'author') edit.authors.look(edit.draft.author)
}

/** @param {Edit} edit @param {string} author */
function takeAuthor(edit, author) {
  edit.draft = { ...edit.draft, author }
  edit.authors.forget()
  edit.twins = []
  void edit.lookForTwins()
  focusOn('[name=author]')
}

/** Enter saves, as in an `<input>`, unless it is still held down since it opened the book. @param {KeyboardEvent} event */
function submitOnEnter(event) {
  // In Safari, the key that ends a composition has only this code.
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229) return
  event.preventDefault()
  if (event.repeat) return
  const { form } = /** @type {HTMLTextAreaElement} */ (event.target)
  form?.requestSubmit()
}

/** A `<textarea>`, because an `<input>` drops line breaks. @param {Edit} edit @param {'title' | 'author'} name */
const textField = (edit, name) => html`<label>${words.list[name]}
    <textarea
      name=${name}
      rows="1"
      dir="auto"
      autocomplete="off"
      ?autofocus=${name === 'title'}
      ?readonly=${edit.isBusy}
      aria-invalid=${edit.fault === name}
      aria-describedby="fault-${name}"
      .value=${live(edit.draft[name])}
      @input=${input(edit, name)}
      @change=${() => void edit.lookForTwins()}
      @keydown=${submitOnEnter}
    ></textarea>
  </label>
  ${faultOf(edit, name)}`

/** @param {Edit} edit */
const yearField = (edit) => html`<label>${words.list.year}
    <input
      name="year"
      autocomplete="off"
      placeholder=${words.editor.unknown}
      ?readonly=${edit.isBusy}
      aria-invalid=${edit.fault === 'year'}
      aria-describedby="fault-year"
      .value=${live(edit.draft.year)}
      @input=${input(edit, 'year')}
    />
  </label>
  ${faultOf(edit, 'year')}`

/** What has to be corrected in a field. @param {Edit} edit @param {keyof Edit['draft']} name */
const faultOf = ({ fault, message }, name) =>
  html`<p class="error" role="alert" id="fault-${name}">${fault === name ? message : ''}</p>`

/** Shown below the buttons, which would otherwise move while one is pressed. @param {Edit} edit */
const twins = ({ book, twins }) =>
  twins.length === 0
    ? nothing
    : html`${book ? words.editor.duplicates(twins.length) : words.editor.twin}
        ${twins.map(
          ({ id, title, author, year }, index) => html`${index === 0 ? nothing : html`<br />`}
            <a href="./#book=${id}" target="_blank">${words.editor.twinOf(short(legible(title)), short(oneLine(author)), writeYear(year))}</a>`,
        )}`

/** @param {Edit} edit @param {Book} theirs */
const comparison = ({ draft }, theirs) => html`
  <p>${words.conflict.changedHint}</p>
  <table>
    <thead><tr><td></td><th scope="col">${words.conflict.mine}</th><th scope="col">${words.conflict.theirs}</th></tr></thead>
    <tbody>
      ${FIELDS.map((name) => {
        const isSame = draft[name] === draftOf(theirs)[name]
        return html`<tr class=${isSame ? '' : 'differs'}>
            <th scope="row">
              ${words.list[name]}
              ${isSame ? nothing : html`<span role="img" aria-label=${words.conflict.differs}>≠</span>`}
            </th>
            <td dir="auto">${cut(draft[name], COMPARED) || words.noYear}</td>
            <td dir="auto">${cut(draftOf(theirs)[name], COMPARED) || words.noYear}</td>
          </tr>`
      })}
    </tbody>
  </table>
`

/** @param {Edit} edit */
const conflictSection = (edit) => html`<section class="conflict" aria-labelledby="conflict-title">
  <h3 id="conflict-title" tabindex="-1">${conflict(edit)}</h3>
  ${edit.theirs ? comparison(edit, edit.theirs) : html`<p>${words.conflict.deletedHint}</p>`}
</section>`

/** In a conflict, Enter presses none of the buttons. @param {Edit} edit */
function buttons(edit) {
  const { book, theirs, isBusy, isLeaving } = edit
  if (isLeaving)
    return html`
      <p class="leaving" role="alert">${words.editor.discard}</p>
      <button type="button" class="main" @click=${() => stay(edit)}>${words.editor.keepEditing}</button>
      <button type="button" class="delete" @click=${() => discard(edit)}>${words.discard}</button>
    `
  const cancelButton = html`<button type="button" @click=${() => leave(close)}>${words.cancel}</button>`
  if (theirs === null)
    return html`
      <button type="button" class="main" ?disabled=${isBusy} @click=${() => addAgain(edit)}>${words.conflict.addAgain}</button>
      ${cancelButton}
    `
  if (theirs !== undefined)
    return html`
      <button type="button" ?disabled=${isBusy} @click=${() => takeTheirs(edit)}>${words.conflict.useTheirs}</button>
      <button type="button" ?disabled=${isBusy} @click=${() => save(edit)}>${words.conflict.overwrite}</button>
      ${cancelButton}
    `
  return html`
    <button class="main" aria-disabled=${isBusy}>${words.editor.save}</button>
    ${book ? nothing : html`<button type="button" aria-disabled=${isBusy} @click=${() => save(edit, true)}>${words.editor.saveAndAdd}</button>`}
    ${cancelButton}
    ${book ? html`<button type="button" class="delete" ?disabled=${isBusy} @click=${() => remove(edit)}>${words.editor.delete}</button>` : nothing}
  `
}

/** @param {1 | -1} step */
const neighbourButton = (step) => {
  const label = step < 0 ? words.editor.previous : words.editor.next
  return html`<button type="button" class="quiet" title=${label} aria-label=${label} @click=${() => go(step)}>
    ${icon(step < 0 ? 'up' : 'down')}
  </button>`
}

function content() {
  const { edit } = state
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault()
    if (edit.theirs === undefined && !edit.isLeaving) save(edit)
  }
  return html`<form novalidate @submit=${submit}>
    <div class="heading">
      <h2 id="editor-title">${edit.book ? words.editor.edit : words.addBook}</h2>
      ${
        edit.book
          ? html`<a href="./#book=${edit.book.id}" target="_blank">${words.editor.link}</a>
            <span class="steps">${neighbourButton(-1)}${neighbourButton(1)}</span>`
          : nothing
      }
    </div>
    ${textField(edit, 'title')} ${textField(edit, 'author')}
    ${edit.isBusy || edit.theirs !== undefined ? nothing : edit.authors.view((author) => takeAuthor(edit, author))}
    ${yearField(edit)}
    ${edit.theirs === undefined ? nothing : conflictSection(edit)}
    <p class="error" role="alert">${edit.fault === undefined ? edit.message : ''}</p>
    ${edit.added ? html`<p class="about" role="status">${words.editor.addedSoFar(edit.added.count, quote(edit.added.after.draft.title))}</p>` : nothing}
    <div class="buttons">${buttons(edit)}</div>
    <p role="status">${twins(edit)}</p>
  </form>`
}
