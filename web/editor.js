import { html, nothing, render } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { deleteLater } from './deletions.js'
import { Edit, explain, readForEdit } from './edit.js'
import { tell } from './notices.js'
import { track } from './pending.js'
import { Away } from './service.js'

/**
 * @typedef {import('./service.js').Book} Book
 * @typedef {{ created(book: Book): void, updated(book: Book): void, deletionsChanged(): void }} Listener
 */

/** The edit that the dialog shows, or showed last. */
let current = new Edit()
/** Those whose save the service has yet to answer, whether or not their dialog is still open. @type {Set<Edit>} */
const saving = new Set()
/** Cancels the read of the book that was clicked last. */
let reading = new AbortController()
/** @type {Listener} */
let listener

/** @param {Listener} each */
export function startEditor(each) {
  listener = each
  // A user who does something else before the book is there no longer wants its dialog. Logging in is part of the wait.
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
}

export const addBook = () => open(new Edit())

/** @param {number} id */
export async function editBook(id) {
  reading.abort()
  reading = new AbortController()
  const { signal } = reading
  try {
    const edit = Array.from(saving).find(({ book }) => book?.id === id) ?? (await readForEdit(id, signal))
    if (!signal.aborted && document.querySelector('dialog[open]') === null) open(edit)
  } catch (error) {
    if (signal.aborted) return
    tell({
      text: error instanceof Away ? 'The service does not answer. Try again in a moment.' : explain(error),
    })
  }
}

/** @param {Edit} edit */
function open(edit) {
  current = edit
  draw()
  dialog()?.showModal()
}

const dialog = () => /** @type {HTMLDialogElement | null} */ (document.querySelector('#editor dialog'))
const close = () => dialog()?.close()
/** @param {Edit} edit */
const isShown = (edit) => edit === current && dialog()?.open === true

/** @param {Edit} edit */
function save(edit) {
  if (edit.isBusy) return
  const isNew = edit.book === undefined
  const title = `“${edit.draft.title.slice(0, 60)}”`
  track(`${title} was ${isNew ? 'added' : 'saved'}`, attempt())
  draw()

  async function attempt() {
    saving.add(edit)
    const book = await edit.save()
    saving.delete(edit)
    if (book) {
      if (isShown(edit)) close()
      if (isNew) listener.created(book)
      else listener.updated(book)
      tell({ text: `${isNew ? 'Added' : 'Saved'} ${title}.` })
      return undefined
    }
    if (isShown(edit)) {
      draw()
      return undefined
    }
    const text = `${title} was not ${isNew ? 'added' : 'saved'}.`
    const actions = [
      { label: 'Open', run: () => open(edit) },
      { label: 'Discard', run: () => {} },
    ]
    tell({ text: `${text} ${edit.message || `${conflict(edit)}.`}`, actions }, Number.POSITIVE_INFINITY)
    return text
  }
}

/** @param {Edit} edit */
function takeTheirs({ theirs, tag }) {
  if (!theirs) return
  listener.updated(theirs)
  current = new Edit(theirs, tag)
  draw()
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
  deleteLater(book, tag, () => listener.deletionsChanged())
  close()
}

/** @param {Edit} edit */
const conflict = ({ theirs }) =>
  theirs === null
    ? 'Somebody has deleted this book meanwhile'
    : 'Somebody else has changed this book meanwhile'

/** @param {Edit} edit @param {keyof Edit['draft']} name @param {string} label @param {boolean} isFirst */
const field = ({ draft, message, isBusy, theirs }, name, label, isFirst = false) => html`<label>${label}
  <input
    name=${name}
    dir="auto"
    autocomplete="off"
    inputmode=${name === 'year' ? 'numeric' : 'text'}
    ?autofocus=${isFirst}
    ?readonly=${isBusy}
    aria-invalid=${name === 'year' && message.startsWith('The year') ? 'true' : 'false'}
    .value=${live(draft[name])}
    @input=${(/** @type {InputEvent} */ event) => {
      draft[name] = /** @type {HTMLInputElement} */ (event.target).value
      if (theirs) draw()
    }}
  />
</label>`

/** @param {Edit} edit @param {Book} theirs */
const comparison = ({ draft }, theirs) => html`
  <p>Nothing was overwritten. Yours can still be edited above; saving it now replaces what is on the right.</p>
  <table>
    <thead><tr><td></td><th scope="col">Yours</th><th scope="col">Theirs, as stored</th></tr></thead>
    <tbody>
      ${
        /** @type {const} */ (['title', 'author', 'year']).map(
          (name) => html`<tr class=${draft[name] === String(theirs[name]) ? '' : 'differs'}>
          <th scope="row">${name}</th>
          <td dir="auto">${draft[name]}</td>
          <td dir="auto">${theirs[name]}</td>
        </tr>`,
        )
      }
    </tbody>
  </table>
`

/** @param {Edit} edit */
const conflictSection = (edit) => html`<section class="conflict" aria-labelledby="conflict-title">
  <h3 id="conflict-title">${conflict(edit)}</h3>
  ${edit.theirs ? comparison(edit, edit.theirs) : html`<p>What you typed is still here, and can be added as a new book.</p>`}
</section>`

/** @param {Edit} edit */
function buttons(edit) {
  const { book, theirs, isBusy } = edit
  if (theirs === null)
    return html`<button type="button" class="main" ?disabled=${isBusy} @click=${() => addAgain(edit)}>Add as a new book</button>`
  return html`
    <button class="main" ?disabled=${isBusy}>${theirs ? 'Save mine over theirs' : 'Save'}</button>
    ${theirs ? html`<button type="button" ?disabled=${isBusy} @click=${() => takeTheirs(edit)}>Take theirs</button>` : nothing}
    ${book && !theirs ? html`<button type="button" class="delete" ?disabled=${isBusy} @click=${() => remove(edit)}>Delete</button>` : nothing}
  `
}

function draw() {
  const element = document.getElementById('editor')
  if (element === null) return
  const edit = current
  const submit = (/** @type {SubmitEvent} */ event) => {
    event.preventDefault()
    save(edit)
  }
  render(
    html`<dialog class="editor" aria-labelledby="editor-title">
      <form novalidate @submit=${submit}>
        <h2 id="editor-title">${edit.book ? 'Edit the book' : 'Add a book'}</h2>
        ${field(edit, 'title', 'Title', true)} ${field(edit, 'author', 'Author')} ${field(edit, 'year', 'Year')}
        ${edit.theirs === undefined ? nothing : conflictSection(edit)}
        <p class="error" role="alert">${edit.message}</p>
        <div class="buttons">
          ${buttons(edit)}
          <button type="button" @click=${close}>Cancel</button>
        </div>
      </form>
    </dialog>`,
    element,
  )
}
