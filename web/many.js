import { html, nothing, render } from 'lit-html'
import { entityTag, read } from './edit.js'
import { restoreFocus } from './list.js'
import { DISMISS, progressBar, showNotices, tell } from './notices.js'
import { call, Refused, track } from './service.js'
import { words } from './words.js'

/**
 * @typedef {import('./service.js').Book} Book
 * @typedef {object} Outcome
 * @property {Book[]} done
 * @property {Book[]} changed by somebody else since they were read: these are left as they are.
 * @property {Book[]} gone, because somebody has deleted them.
 * @property {Book[]} left that were not reached.
 * @property {unknown} [error] why not, if the user did not stop it.
 * @typedef {(book: Book, tag: string) => Promise<unknown>} Act what to do with a book that has this entity tag.
 * @typedef {object} Task
 * @property {string} heading
 * @property {string} text
 * @property {string} action
 * @property {boolean} [isDeletion] whether it cannot be taken back.
 * @property {string} running what is being done, such as "Deleting 2 books…".
 * @property {string} what a clause that becomes true with it, such as "2 books were deleted".
 * @property {() => unknown} [fields] drawn as they are filled in.
 * @property {() => boolean} [isTyped] whether something is typed in them.
 * @property {() => { books: readonly Book[], act: Act } | string} begin what to do when it is confirmed, or what is
 *   wrong with the fields.
 * @property {(outcome: Outcome) => string} tell
 * @property {(outcome: Outcome) => void} ended
 */

/** Requests at the same time. */
const PARALLEL = 6

/** How long it takes until more books are told to be reached, in milliseconds. */
const PROGRESS_PAUSE = 100

/**
 * Does something to each of many books, as they were read.
 * @param {readonly Book[]} books @param {Act} act
 * @param {AbortSignal} signal ends it before the next books.
 * @param {(count: number) => void} progressed told how many were reached.
 * @returns {Promise<Outcome>}
 */
export async function doToEach(books, act, signal, progressed) {
  /** @type {Outcome} */
  const outcome = { done: [], changed: [], gone: [], left: [] }
  const queue = books.values()
  let reached = 0
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let telling
  function tellLater() {
    telling = undefined
    progressed(reached)
  }
  async function work() {
    for (const book of queue) {
      if (signal.aborted || outcome.error !== undefined) outcome.left.push(book)
      else {
        try {
          outcome[await actOn(book, act)].push(book)
          reached++
          // To draw each would take as long as to send it.
          telling ??= setTimeout(tellLater, PROGRESS_PAUSE)
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
    return isSame(stored, book) && (await isDone(tag)) ? 'done' : 'changed'
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return 'gone'
    throw error
  }
}

/** @param {Book} one @param {Book} other */
const isSame = (one, other) =>
  one.title === other.title && one.author === other.author && one.year === other.year

/** @type {Act} */
export const remove = (book, tag) => call('DELETE', `/book/${book.id}`, { headers: { 'if-match': tag } })

/** @param {Outcome} outcome @param {string} done what became of those that are done. */
export function explain({ changed, gone, left, error }, done) {
  const reason = error instanceof Error ? error.message : words.many.stopped
  return [
    done,
    ...(changed.length > 0 ? [words.many.changed(changed.length)] : []),
    ...(gone.length > 0 ? [words.many.gone(gone.length)] : []),
    ...(left.length > 0 ? [words.many.left(reason, left.length)] : []),
  ].join(' ')
}

/** Those that are not to be left undone when the page is closed. @type {Set<unknown>} */
const unfinished = new Set()

// The browser asks whether to leave the page.
addEventListener('beforeunload', (event) => {
  if (unfinished.size > 0 || (dialog()?.open && isTyped())) event.preventDefault()
})

/** Has the browser ask before the page is closed until work is done. @template T @param {Promise<T>} work @returns {Promise<T>} */
export function keepOpen(work) {
  unfinished.add(work)
  return work.finally(() => unfinished.delete(work))
}

/** @type {Task} */
let task
let isRunning = false
/** Whether the dialog is closed by its buttons, or because all is done; not by Escape. */
let isDone = true
let [reached, total] = [0, 0]
let message = ''
/** What became of them, if not all are done. @type {string | undefined} */
let result
let stop = new AbortController()
/** Takes away what tells that a task goes on without its dialog. */
let dismissRunning = () => {}

/**
 * Asks whether to do something to many books, does it, and says what became of them.
 * @param {Task} asked
 * @returns {() => void} draws its fields anew.
 */
export function openTask(asked) {
  if (!isRunning) {
    task = asked
    message = ''
    result = undefined
    isDone = false
  }
  draw()
  show()
  return draw
}

function show() {
  dismissRunning()
  if (!dialog()?.open) dialog()?.showModal()
}

/** Escape discards nothing that is typed. @param {Event} event */
function cancel(event) {
  if (!isTyped()) return
  event.preventDefault()
  message = words.many.escape
  draw()
}

const isTyped = () => !isRunning && !isDone && result === undefined && task.isTyped?.() === true

/** A task goes on, and a notice says so. */
function closed() {
  if (dialog()?.open) return
  // Browsers let a dialog refuse to be closed only once before its user does something else.
  if (isTyped()) return dialog()?.showModal()
  if (!isRunning) return
  const actions = [
    { label: words.open, run: show, forPage: true },
    { label: words.many.stop, run: () => stop.abort() },
  ]
  dismissRunning = tell({ text: task.running, actions, progress }, Number.POSITIVE_INFINITY)
}

const progress = () => reached / total

const dialog = () => /** @type {HTMLDialogElement | null} */ (document.querySelector('#many dialog'))

/** @param {Event} event */
function start(event) {
  event.preventDefault()
  const begun = task.begin()
  message = typeof begun === 'string' ? begun : ''
  if (typeof begun !== 'string') track(task.what, keepOpen(run(begun.books, begun.act)))
  draw()
  restoreFocus()
}

/** @param {readonly Book[]} books @param {Act} act @returns {Promise<string | undefined>} */
async function run(books, act) {
  const { tell: describe, ended } = task
  stop = new AbortController()
  isRunning = true
  reached = 0
  total = books.length
  const outcome = await doToEach(books, act, stop.signal, (count) => {
    reached = count
    draw()
    showNotices()
  })
  isRunning = false
  dismissRunning()
  const text = describe(outcome)
  const isWhole = outcome.done.length === total
  if (isWhole) close()
  else result = text
  if (!dialog()?.open)
    tell(isWhole ? { text } : { text, actions: [DISMISS] }, isWhole ? undefined : Number.POSITIVE_INFINITY)
  draw()
  restoreFocus()
  ended(outcome)
  return isWhole ? undefined : text
}

function close() {
  isDone = true
  dialog()?.close()
}

function draw() {
  const element = document.getElementById('many')
  if (element === null) return
  render(
    html`<dialog class="many" aria-labelledby="many-title" @cancel=${cancel} @close=${closed}>
      <form novalidate @submit=${start}>
        <h2 id="many-title">${task.heading}</h2>
        <p role="status">${result ?? (isRunning ? task.running : task.text)}</p>
        ${isRunning || result !== undefined ? nothing : task.fields?.()}
        ${
          isRunning
            ? html`${progressBar(progress())}
                <p>${words.many.reached(reached, total)}</p>`
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
      </form>
    </dialog>`,
    element,
  )
}
