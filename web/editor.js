import { html, nothing, render } from 'lit-html'
import { live } from 'lit-html/directives/live.js'
import { deleteLater } from './deletions.js'
import { tell } from './notices.js'
import { Away, call, Refused } from './service.js'

/**
 * @typedef {import('./service.js').Book} Book
 * @typedef {{ title: string, author: string, year: string }} Draft
 * @typedef {{ created(book: Book): void, updated(book: Book): void, deletionsChanged(): void }} Listener
 */

/** The book as it was read, with its entity tag; undefined while a new one is written. @type {Book | undefined} */
let book
let tag = ''
/** @type {Draft} */
let draft = { title: '', author: '', year: '' }
/** As somebody else has stored it meanwhile; null if it is gone. @type {Book | null | undefined} */
let theirs
let message = ''
let isBusy = false
/** @type {Listener} */
let listener

/** @param {Listener} each */
export function startEditor(each) {
  listener = each
}

export function addBook() {
  book = undefined
  open({ title: '', author: '', year: '' })
}

/** @param {number} id */
export async function editBook(id) {
  try {
    book = await read(id)
    open(draftOf(book))
  } catch (error) {
    tell({ text: explain(error) })
  }
}

/** @param {number} id @returns {Promise<Book>} */
async function read(id) {
  const response = await call('GET', `/book/${id}`)
  tag = response.headers.get('etag') ?? ''
  return (await response.json()).data
}

/** @param {Book} book @returns {Draft} */
const draftOf = ({ title, author, year }) => ({ title, author, year: String(year) })

/** @param {Draft} value */
function open(value) {
  draft = value
  theirs = undefined
  message = ''
  draw()
  dialog()?.showModal()
}

const dialog = () => /** @type {HTMLDialogElement | null} */ (document.querySelector('#editor dialog'))
const close = () => dialog()?.close()

/** @param {SubmitEvent} event */
async function submit(event) {
  event.preventDefault()
  await attempt(save)
}

async function save() {
  const year = Number(draft.year)
  if (!/^-?\d+$/.test(draft.year) || !Number.isSafeInteger(year)) {
    message = 'The year is a whole number, such as 1979; before our era with a minus.'
    return
  }
  const body = { title: draft.title, author: draft.author, year }
  if (book === undefined) {
    const response = await call('POST', '/book', { body })
    listener.created((await response.json()).data)
    tell({ text: `Added “${body.title.slice(0, 60)}”.` })
  } else {
    const response = await call('PUT', `/book/${book.id}`, { body, headers: { 'if-match': tag } })
    listener.updated((await response.json()).data)
    tell({ text: `Saved “${body.title.slice(0, 60)}”.` })
  }
  close()
}

/** Does something with the service, and shows what comes of it. @param {() => Promise<void>} work */
async function attempt(work) {
  isBusy = true
  message = ''
  draw()
  try {
    await work()
  } catch (error) {
    const status = error instanceof Refused ? error.status : 0
    if (book !== undefined && (status === 412 || status === 404)) await showTheirs(book.id)
    else message = explain(error)
  } finally {
    isBusy = false
    draw()
  }
}

/** From now on a save replaces what is shown as theirs, and nothing newer. @param {number} id */
async function showTheirs(id) {
  try {
    theirs = await read(id)
  } catch (error) {
    if (error instanceof Refused && error.status === 404) theirs = null
    else message = explain(error)
  }
}

function takeTheirs() {
  if (!theirs) return
  book = theirs
  draft = draftOf(theirs)
  listener.updated(theirs)
  theirs = undefined
  draw()
}

function addAgain() {
  book = undefined
  theirs = undefined
  void attempt(save)
}

function remove() {
  if (book === undefined) return
  deleteLater(book, tag, () => listener.deletionsChanged())
  close()
}

/** @param {unknown} error */
function explain(error) {
  if (error instanceof Away)
    return 'The service does not answer. What you typed is still here: try again in a moment.'
  if (!(error instanceof Refused)) return String(error)
  if (error.status === 400)
    return 'The service cannot store this: a text has a character that is none, or the year is too large.'
  if (error.status === 404) return 'This book is not there any more.'
  if (error.status === 413) return 'The texts are too long: together they may have one megabyte.'
  return error.message
}

/** @param {keyof Draft} name @param {string} label @param {boolean} isFirst */
const field = (name, label, isFirst = false) => html`<label>${label}
  <input
    name=${name}
    dir="auto"
    autocomplete="off"
    inputmode=${name === 'year' ? 'numeric' : 'text'}
    ?autofocus=${isFirst}
    aria-invalid=${name === 'year' && message.startsWith('The year') ? 'true' : 'false'}
    .value=${live(draft[name])}
    @input=${(/** @type {InputEvent} */ event) => {
      draft[name] = /** @type {HTMLInputElement} */ (event.target).value
      if (theirs) draw()
    }}
  />
</label>`

/** @param {Book} other */
const comparison = (other) => html`<section class="conflict" aria-labelledby="conflict-title">
  <h3 id="conflict-title">Somebody else has changed this book meanwhile</h3>
  <p>Nothing was overwritten. Yours can still be edited above; saving it now replaces what is on the right.</p>
  <table>
    <thead><tr><td></td><th scope="col">Yours</th><th scope="col">Theirs, as stored</th></tr></thead>
    <tbody>
      ${
        /** @type {const} */ (['title', 'author', 'year']).map(
          (name) => html`<tr class=${draft[name] === String(other[name]) ? '' : 'differs'}>
          <th scope="row">${name}</th>
          <td dir="auto">${draft[name]}</td>
          <td dir="auto">${other[name]}</td>
        </tr>`,
        )
      }
    </tbody>
  </table>
</section>`

const gone = () => html`<section class="conflict">
  <h3>Somebody has deleted this book meanwhile</h3>
  <p>What you typed is still here, and can be added as a new book.</p>
</section>`

function buttons() {
  if (theirs === null)
    return html`<button type="button" class="main" @click=${addAgain}>Add as a new book</button>`
  return html`
    <button class="main" ?disabled=${isBusy}>${theirs ? 'Save mine over theirs' : 'Save'}</button>
    ${theirs ? html`<button type="button" @click=${takeTheirs}>Take theirs</button>` : nothing}
    ${book && !theirs ? html`<button type="button" class="delete" @click=${remove}>Delete</button>` : nothing}
  `
}

function draw() {
  const element = document.getElementById('editor')
  if (element === null) return
  render(
    html`<dialog class="editor" aria-labelledby="editor-title">
      <form novalidate @submit=${submit}>
        <h2 id="editor-title">${book ? 'Edit the book' : 'Add a book'}</h2>
        ${field('title', 'Title', true)} ${field('author', 'Author')} ${field('year', 'Year')}
        ${theirs === undefined ? nothing : theirs === null ? gone() : comparison(theirs)}
        <p class="error" role="alert">${message}</p>
        <div class="buttons">
          ${buttons()}
          <button type="button" @click=${close}>Cancel</button>
        </div>
      </form>
    </dialog>`,
    element,
  )
}
