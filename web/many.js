import { html, nothing } from 'lit-html'
import { replaced } from './changes.js'
import { assign, Dialog, progressBar, reactive, restoreFocus, tell } from './dialog.js'
import { entityTag, read } from './edit.js'
import { isSame } from './fields.js'
import { call, Refused, track } from './service.js'
import { words } from './words.js'

/**
 * @typedef {import('./fields.js').Book} Book
 * @typedef {object} Outcome
 * @property {Book[]} done
 * @property {Book[]} changed by somebody else since they were read, and left as they are.
 * @property {Book[]} gone, because somebody else has deleted them.
 * @property {Book[]} left that were not reached.
 * @property {unknown} [error] why they were not reached; undefined if the user stopped it.
 * @typedef {(book: Book, tag: string) => Promise<unknown>} Act what to do with a book that has this entity tag.
 * @typedef {object} Task
 * @property {string} heading
 * @property {string} text
 * @property {string} action
 * @property {boolean} [isDeletion] whether it cannot be undone.
 * @property {string} running what is being done, such as "Deleting 2 books…".
 * @property {string} what a clause that is true once it is done, such as "2 books were deleted".
 * @property {() => unknown} [fields] renders the fields to fill in.
 * @property {() => boolean} [isTyped] whether something is typed in them.
 * @property {() => { books: readonly Book[], act: Act } | string} begin called when the user confirms;
 *   returns what to do, or what is wrong with the fields.
 * @property {(outcome: Outcome) => string} tell
 * @property {(outcome: Outcome) => void} ended
 */

/** How many books are worked on at the same time. */
const PARALLEL = 6

/** The time between reports of progress, in milliseconds. */
const PROGRESS_PAUSE = 100

/**
 * Does something to each book, unless somebody has changed it since it was read.
 * @param {readonly Book[]} books @param {Act} act
 * @param {AbortSignal} signal stops before the next books.
 * @param {(count: number) => void} progressed called with the number of books reached.
 * @returns {Promise<Outcome>}
 */
export async function doToEach(books, act, signal, progressed) {
  /** @type {Outcome} */
  const outcome = { done: [], changed: [], gone: [], left: [] }
  const queue = books.values()
  let reached = 0
  let telling = 0
  async function work() {
    for (const book of queue) {
      if (signal.aborted || outcome.error !== undefined) outcome.left.push(book)
      else {
        try {
          outcome[await actOn(book, act)].push(book)
          reached++
          // Drawing after each book would take as long as its request.
          telling ||= setTimeout(() => {
            telling = 0
            progressed(reached)
          }, PROGRESS_PAUSE)
        } catch (error) {
          outcome.error ??= error
          outcome.left.push(book)
        }
      }
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, work))
  clearTimeout(telling)
  return outcome
}

/** @param {Book} book @param {Act} act @returns {Promise<'done' | 'changed' | 'gone'>} */
async function actOn(book, act) {
  async function isDone(/** @type {string} */ tag) {
    try {
      await act(book, tag)
      return true
    } catch (error) {
      if (error instanceof Refused && error.status === 412) return false
      throw error
    }
  }
  try {
    const expected = await entityTag(book)
    if (expected !== undefined && (await isDone(expected))) return 'done'
    const { book: stored, tag } = await read(book.id)
    if (isSame(stored, book) && (await isDone(tag))) return 'done'
    replaced(stored)
    return 'changed'
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return 'gone'
    throw error
  }
}

/** @type {Act} */
export const remove = (book, tag) => call('DELETE', `/book/${book.id}`, { headers: { 'if-match': tag } })

/** @param {Outcome} outcome @param {string} done the sentence about the books that are done. */
export function explain({ changed, gone, left, error }, done) {
  const reason = error instanceof Error ? error.message : words.many.stopped
  return [
    done,
    ...(changed.length > 0 ? [words.many.changed(changed.length)] : []),
    ...(gone.length > 0 ? [words.many.gone(gone.length)] : []),
    ...(left.length > 0 ? [words.many.left(reason, left.length)] : []),
  ].join(' ')
}

// Makes the browser ask before it leaves the web page.
addEventListener('beforeunload', (event) => {
  if (dialog.isOpen && isTyped()) event.preventDefault()
})

const state = reactive({
  task: /** @type {Task} */ (/** @type {unknown} */ (undefined)),
  isRunning: false,
  reached: 0,
  total: 0,
  message: '',
  /** The message if not all books are done. */
  result: /** @type {string | undefined} */ (undefined),
})
let stop = new AbortController()
/** Removes the notice about a task that continues without its dialog. */
let dismissRunning = () => {}

/** Whether Escape would discard something. */
const isTyped = () => !state.isRunning && state.result === undefined && state.task.isTyped?.() === true

const dialog = new Dialog('many', content, {
  closed,
  stays: isTyped,
  refused() {
    state.message = words.many.escape
  },
})

/**
 * Asks whether to do something to many books, does it, and reports the outcome. Shows a running task instead.
 * @param {Task} task
 */
export function openTask(task) {
  if (!state.isRunning) assign(state, { task, message: '', result: undefined })
  show()
}

function show() {
  dismissRunning()
  dialog.show()
}

/** A running task continues, and a notice says so. */
function closed() {
  if (!state.isRunning) return
  const actions = [
    { label: words.open, run: show, forPage: true },
    { label: words.many.stop, run: () => stop.abort() },
  ]
  dismissRunning = tell({ text: state.task.running, actions, progress, stays: true })
}

const progress = () => state.reached / state.total

/** @param {Event} event */
function start(event) {
  event.preventDefault()
  const begun = state.task.begin()
  state.message = typeof begun === 'string' ? begun : ''
  if (typeof begun !== 'string') track(state.task.what, run(begun.books, begun.act))
  restoreFocus()
}

/** @param {readonly Book[]} books @param {Act} act @returns {Promise<string | undefined>} */
async function run(books, act) {
  const { tell: describe, ended } = state.task
  stop = new AbortController()
  assign(state, { isRunning: true, reached: 0, total: books.length })
  const outcome = await doToEach(books, act, stop.signal, (count) => {
    state.reached = count
  })
  state.isRunning = false
  dismissRunning()
  const text = describe(outcome)
  const isWhole = outcome.done.length === books.length
  if (isWhole) dialog.close()
  else state.result = text
  if (!dialog.isOpen) tell({ text, stays: !isWhole, hasClose: true })
  restoreFocus()
  ended(outcome)
  return isWhole ? undefined : text
}

function content() {
  const { task, isRunning, result, message } = state
  const close = () => dialog.close()
  return html`<form novalidate @submit=${start}>
    <h2 id="many-title">${task.heading}</h2>
    <p role="status">${result ?? (isRunning ? task.running : task.text)}</p>
    ${isRunning || result !== undefined ? nothing : task.fields?.()}
    ${
      isRunning
        ? html`${progressBar(progress())}
            <p>${words.many.reached(state.reached, state.total)}</p>`
        : nothing
    }
    <p class="error" role="alert">${message}</p>
    <div class="buttons">
      ${
        isRunning
          ? html`<button type="button" @click=${() => stop.abort()}>${words.many.stop}</button>`
          : result === undefined
            ? html`<button class=${task.isDeletion ? 'main delete' : 'main'}>${task.action}</button>
                <button type="button" ?autofocus=${task.fields === undefined} @click=${close}>${words.cancel}</button>`
            : html`<button type="button" class="main" @click=${close}>${words.close}</button>`
      }
    </div>
  </form>`
}
