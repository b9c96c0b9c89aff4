import { html, nothing, render } from 'lit-html'
import { read } from './edit.js'
import { restoreFocus } from './list.js'
import { DISMISS, tell } from './notices.js'
import { track } from './pending.js'
import { Away, call, Refused } from './service.js'
import { words } from './words.js'

/**
 * @typedef {import('./service.js').Book} Book
 * @typedef {object} Outcome
 * @property {Book[]} done
 * @property {Book[]} changed by somebody else since they were read: these are left as they are.
 * @property {Book[]} left that were not reached.
 * @property {unknown} [error] why not, if the user did not stop it.
 * @typedef {(book: Book, tag: string) => Promise<unknown>} Act what to do with a book that has this entity tag.
 * @typedef {object} Task
 * @property {string} heading
 * @property {string} text
 * @property {string} action
 * @property {string} what a clause that becomes true with it, such as "2 books were deleted".
 * @property {() => unknown} [fields] drawn as they are filled in.
 * @property {() => { books: readonly Book[], act: Act } | string} begin what to do when it is confirmed, or what is
 *   wrong with the fields.
 * @property {(outcome: Outcome) => string} tell
 * @property {(outcome: Outcome) => void} ended
 */

/** Requests at the same time. */
const PARALLEL = 6

/**
 * Does something to each of many books, as they were read.
 * @param {readonly Book[]} books @param {Act} act
 * @param {AbortSignal} signal ends it before the next books.
 * @param {(count: number) => void} progressed told how many were reached.
 * @returns {Promise<Outcome>}
 */
export async function doToEach(books, act, signal, progressed) {
  /** @type {Outcome} */
  const outcome = { done: [], changed: [], left: [] }
  const queue = books.values()
  let reached = 0
  async function work() {
    for (const book of queue) {
      if (signal.aborted || outcome.error !== undefined) outcome.left.push(book)
      else {
        try {
          outcome[(await actOn(book, act)) ? 'done' : 'changed'].push(book)
          progressed(++reached)
        } catch (error) {
          outcome.error ??= error
          outcome.left.push(book)
        }
      }
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, work))
  return outcome
}

/** @param {Book} book @param {Act} act @returns {Promise<boolean>} false if somebody has changed it. */
async function actOn(book, act) {
  try {
    const { book: stored, tag } = await read(book.id)
    if (!isSame(stored, book)) return false
    await act(stored, tag)
    return true
  } catch (error) {
    if (error instanceof Refused && [404, 412].includes(error.status)) return false
    throw error
  }
}

/** @param {Book} one @param {Book} other */
const isSame = (one, other) =>
  one.title === other.title && one.author === other.author && one.year === other.year

/** @type {Act} */
export const remove = (book, tag) => call('DELETE', `/book/${book.id}`, { headers: { 'if-match': tag } })

/** @param {Outcome} outcome @param {string} done what became of those that are done. */
export function explain({ changed, left, error }, done) {
  const reason =
    error instanceof Away ? words.away : error instanceof Error ? error.message : words.many.stopped
  return [
    done,
    ...(changed.length > 0 ? [words.many.changed(changed.length)] : []),
    ...(left.length > 0 ? [words.many.left(reason, left.length)] : []),
  ].join(' ')
}

/** Those that are not to be left undone when the page is closed. @type {Set<unknown>} */
const unfinished = new Set()

// The browser asks whether to leave the page.
addEventListener('beforeunload', (event) => {
  if (unfinished.size > 0) event.preventDefault()
})

/** Has the browser ask before the page is closed until work is done. @template T @param {Promise<T>} work @returns {Promise<T>} */
export function keepOpen(work) {
  unfinished.add(work)
  return work.finally(() => unfinished.delete(work))
}

/** @type {Task} */
let task
let isRunning = false
let [reached, total] = [0, 0]
let message = ''
/** What became of them, if not all are done. @type {string | undefined} */
let result
let stop = new AbortController()

/** Asks whether to do something to many books, does it, and says what became of them. @param {Task} asked */
export function openTask(asked) {
  if (!isRunning) {
    task = asked
    message = ''
    result = undefined
  }
  draw()
  if (!dialog()?.open) dialog()?.showModal()
}

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
  })
  isRunning = false
  const text = describe(outcome)
  const isWhole = outcome.done.length === total
  if (isWhole) dialog()?.close()
  else result = text
  if (!dialog()?.open)
    tell(isWhole ? { text } : { text, actions: [DISMISS] }, isWhole ? undefined : Number.POSITIVE_INFINITY)
  draw()
  restoreFocus()
  ended(outcome)
  return isWhole ? undefined : text
}

function draw() {
  const element = document.getElementById('many')
  if (element === null) return
  const close = () => dialog()?.close()
  render(
    html`<dialog class="many" aria-labelledby="many-title">
      <form novalidate @submit=${start}>
        <h2 id="many-title">${task.heading}</h2>
        <p role="status">${result ?? (isRunning ? words.many.running : task.text)}</p>
        ${isRunning || result !== undefined ? nothing : task.fields?.()}
        ${
          isRunning
            ? html`<progress aria-label=${words.many.progress} max=${total} .value=${reached}></progress>
                <p>${words.many.reached(reached, total)}</p>`
            : nothing
        }
        <p class="error" role="alert">${message}</p>
        <div class="buttons">
          ${
            isRunning
              ? html`<button type="button" @click=${() => stop.abort()}>${words.many.stop}</button>`
              : result === undefined
                ? html`<button class="main">${task.action}</button>
                    <button type="button" ?autofocus=${task.fields === undefined} @click=${close}>${words.cancel}</button>`
                : html`<button type="button" class="main" @click=${close}>${words.close}</button>`
          }
        </div>
      </form>
    </dialog>`,
    element,
  )
}
