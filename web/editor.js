import { html, nothing, render } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { nameBook } from './address.js'
import { bookListener as listener } from './changes.js'
import { deleteBook } from './deletions.js'
import { draftOf, Edit, explain, readForEdit } from './edit.js'
import { find, openDialog, restoreFocus } from './list.js'
import { tell } from './notices.js'
import { Away, FIELDS, track } from './service.js'
import { keepDraft } from './session.js'
import { cut, legible, oneLine, quote, short, writeYear } from './text.js'
import { words } from './words.js'

/**
 * @typedef {import('./service.js').Book} Book
 * @typedef {{ created(book: Book): void, updated(book: Book): void } & import('./deletions.js').Listener} Listener
 */

/** How long reading a book may take before a notice says so, in milliseconds. */
const SLOW = 400

/** How much of each text the comparison of two versions shows, in code points. */
const COMPARED = 2000

/** The edit that the dialog shows, or showed last. */
let current = new Edit()
/** Whether the dialog was closed on purpose. Browsers may also close it by themselves. */
let isDone = true
/** The edits whose save the service has not answered yet, even if their dialog is closed. @type {Set<Edit>} */
const saving = new Set()
/** The element that had the focus before the user was asked whether to discard. @type {Element | null} */
let before = null
/** The edit that is kept over a reload, until something else is typed. @type {Edit | undefined} */
let kept
/** Cancels the reading of the book that was clicked last. */
let reading = new AbortController()

// If the user does something else before the book arrives, its dialog does not open. Logging in is part of the wait.
for (const type of ['click', 'input', 'keydown', 'drop', 'popstate'])
  addEventListener(
    type,
    (event) => {
      if (event instanceof KeyboardEvent && event.key !== 'Escape') return
      if (event.target instanceof Element && event.target.closest('#login')) return
      reading.abort()
    },
    true,
  )
// Makes the browser ask before it leaves the web page.
addEventListener('beforeunload', (event) => {
  if (saving.size > 0 || (isShown(current) && current.isChanged && current !== kept)) event.preventDefault()
})
// The web page itself offers a reload when a proxy answers instead of the service. What is typed is kept for it.
addEventListener('reloading', () => {
  const { book, tag, draft, isChanged } = current
  if (isShown(current) && isChanged && keepDraft(JSON.stringify({ book, tag, draft }))) kept = current
})

export const addBook = () => open(new Edit())

/** Continues with what `keepDraft` has kept over a reload. @param {string} text */
export function resume(text) {
  const { book, tag, draft } = JSON.parse(text)
  open(Object.assign(new Edit(book, tag), { draft }))
}

/** @param {number} id */
export async function editBook(id) {
  reading.abort()
  reading = new AbortController()
  const { signal } = reading
  let dismiss = () => {}
  const timer = setTimeout(() => {
    if (openDialog() === undefined) dismiss = tell({ text: words.editor.opening }, Number.POSITIVE_INFINITY)
  }, SLOW)
  signal.addEventListener('abort', () => dismiss())
  try {
    const edit = Array.from(saving).find(({ book }) => book?.id === id) ?? (await readForEdit(id, signal))
    if (!signal.aborted && openDialog() === undefined) open(edit)
  } catch (error) {
    if (signal.aborted) return
    tell({
      text: error instanceof Away ? words.moment(error.message) : explain(error),
    })
  } finally {
    clearTimeout(timer)
    dismiss()
  }
}

/** @param {Edit} edit */
function open(edit) {
  current = edit
  isDone = false
  edit.isLeaving = false
  nameBook(edit.book?.id)
  draw()
  dialog()?.showModal()
  if (edit.book) void lookForTwins(edit)
}

const dialog = () => /** @type {HTMLDialogElement | null} */ (document.querySelector('#editor dialog'))
/** @param {Edit} edit */
const isShown = (edit) => edit === current && dialog()?.open === true

function close() {
  isDone = true
  dialog()?.close()
}

/** Closes the dialog. If something typed would be lost, asks the user first. @param {Edit} edit */
function leave(edit) {
  if (edit.isBusy || !edit.isChanged) return close()
  before = document.activeElement
  edit.isLeaving = true
  draw()
  focusOn('.buttons .main')
}

/** @param {Edit} edit */
function stay(edit) {
  edit.isLeaving = false
  draw()
  if (before instanceof HTMLElement) before.focus()
  restoreFocus()
}

/** Handles Escape, which answers the question whether to discard with "no". @param {Event} event */
function cancel(event) {
  event.preventDefault()
  // If the event cannot be cancelled, the dialog closes nonetheless, and `closed` opens it again.
  if (event.defaultPrevented) answerEscape()
}

function answerEscape() {
  if (current.isLeaving) stay(current)
  else leave(current)
}

/** Reopens a dialog that must stay: browsers let a page refuse to close one only once until the user acts again. */
function closed() {
  if (dialog()?.open) return
  if (isDone) return nameBook(undefined)
  dialog()?.showModal()
  answerEscape()
}

/** @param {string} selector */
const focusOn = (selector) => find(`#editor ${selector}`)?.focus()

/** @param {Edit} edit @param {boolean} [isMore] whether to add another book after it. */
function save(edit, isMore = false) {
  if (edit.isBusy) return
  const isNew = edit.book === undefined
  const title = quote(edit.draft.title)
  track(isNew ? words.editor.adding(title) : words.editor.saving(title), attempt())
  draw()

  async function attempt() {
    saving.add(edit)
    const book = await edit.save()
    saving.delete(edit)
    if (book) {
      if (isShown(edit)) {
        if (isMore) addAnother()
        else close()
      }
      tell({ text: isNew ? words.editor.added(title) : words.editor.saved(title) })
      if (isNew) listener.created(book)
      else listener.updated(book)
      return undefined
    }
    if (isShown(edit)) {
      draw()
      if (edit.fault) focusOn(`[name=${edit.fault}]`)
      // Not on a button that overwrites: the key that saved would press it too.
      else if (edit.theirs !== undefined) focusOn('#conflict-title')
      restoreFocus()
      return undefined
    }
    const text = isNew ? words.editor.notAdded(title) : words.editor.notSaved(title)
    const actions = [
      { label: words.open, run: () => open(edit), forPage: true },
      { label: words.discard, run: () => {} },
    ]
    tell({ text: `${text} ${edit.message || `${conflict(edit)}.`}`, actions }, Number.POSITIVE_INFINITY)
    return text
  }
}

function addAnother() {
  open(new Edit())
  focusOn('[name=title]')
}

/** @param {Edit} edit */
async function lookForTwins(edit) {
  await edit.lookForTwins()
  draw()
}

/** @param {Edit} edit */
function takeTheirs({ theirs, tag }) {
  if (!theirs) return
  listener.updated(theirs)
  current = new Edit(theirs, tag)
  draw()
  restoreFocus()
}

/** @param {Edit} edit */
function addAgain(edit) {
  edit.book = undefined
  edit.theirs = undefined
  save(edit)
}

/** @param {Edit} edit */
function remove({ book, tag }) {
  if (book === undefined) return
  deleteBook(book, tag, listener)
  close()
}

/** @param {Edit} edit */
const conflict = ({ theirs }) => words.conflict[theirs === null ? 'deleted' : 'changed']

/** @param {Edit} edit @param {keyof Edit['draft']} name */
const input = (edit, name) => (/** @type {InputEvent} */ event) => {
  edit.draft[name] = /** @type {HTMLInputElement} */ (event.target).value
  edit.isLeaving = false
  kept = undefined
  if (name !== 'year') edit.twins = []
  if (name === 'author') edit.authors.look(edit.draft.author, draw)
  draw()
}

/** @param {Edit} edit @param {string} author */
function takeAuthor(edit, author) {
  edit.draft.author = author
  edit.authors.forget()
  edit.twins = []
  void lookForTwins(edit)
  draw()
  focusOn('[name=author]')
}

/** Enter saves, as in an `<input>`. @param {KeyboardEvent} event */
function submitOnEnter(event) {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
  event.preventDefault()
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
    .value=${live(edit.draft[name])}
    @input=${input(edit, name)}
    @change=${() => void lookForTwins(edit)}
    @keydown=${submitOnEnter}
  ></textarea>
</label>`

/** @param {Edit} edit */
const yearField = (edit) => html`<label>${words.list.year}
  <input
    name="year"
    autocomplete="off"
    inputmode="numeric"
    ?readonly=${edit.isBusy}
    aria-invalid=${edit.fault === 'year'}
    .value=${live(edit.draft.year)}
    @input=${input(edit, 'year')}
  />
</label>`

/** @param {Edit} edit */
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
            <td dir="auto">${cut(draft[name], COMPARED)}</td>
            <td dir="auto">${cut(draftOf(theirs)[name], COMPARED)}</td>
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
      <button type="button" class="delete" @click=${close}>${words.discard}</button>
    `
  const cancelButton = html`<button type="button" @click=${() => leave(edit)}>${words.cancel}</button>`
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

function draw() {
  const element = document.getElementById('editor')
  if (element === null) return
  const edit = current
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault()
    if (edit.theirs === undefined && !edit.isLeaving) save(edit)
  }
  render(
    html`<dialog class="editor" aria-labelledby="editor-title" @cancel=${cancel} @close=${closed}>
      <form novalidate @submit=${submit}>
        <div class="heading">
          <h2 id="editor-title">${edit.book ? words.editor.edit : words.addBook}</h2>
          ${edit.book ? html`<a href="./#book=${edit.book.id}" target="_blank">${words.editor.link}</a>` : nothing}
        </div>
        ${textField(edit, 'title')} ${textField(edit, 'author')}
        ${edit.isBusy || edit.theirs !== undefined ? nothing : edit.authors.view((author) => takeAuthor(edit, author))}
        ${yearField(edit)}
        ${edit.theirs === undefined ? nothing : conflictSection(edit)}
        <p role="status">${twins(edit)}</p>
        <p class="error" role="alert">${edit.message}</p>
        <div class="buttons">${buttons(edit)}</div>
      </form>
    </dialog>`,
    element,
  )
}
