import { batch, effect, signal } from '@preact/signals-core'
import { html, nothing, render } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'
import { icon } from './icons.js'
import { words } from './words.js'

/**
 * How the page is drawn: what reads reactive properties is drawn again as soon as they change. Also its dialogs, its
 * notices, and where the focus goes.
 *
 * @typedef {object} Options of a dialog.
 * @property {() => void} [closed] called when it has been closed.
 * @property {() => boolean} [stays] whether it may be closed only by `close`, because something would be lost.
 * @property {() => void} [refused] called when the user has tried to close it nevertheless.
 * @typedef {{ label: string, run: () => void, forPage?: boolean, staysAfter?: boolean }} Action `forPage`:
 *   offered only while no dialog is open. `staysAfter`: does not remove the notice.
 * @typedef {{ text: string, actions?: Action[], stays?: boolean, hasClose?: boolean, ended?: () => void,
 *   progress?: () => number | undefined }} Notice `stays`: until an action is chosen, or it is closed if it `hasClose`.
 *   `ended`: called after the time in which the first action undoes what it tells. `progress` as in `progressBar`.
 * @typedef {{ dismiss: () => void, end: () => void }} Entry
 */

/** Makes the properties of an object reactive. @template {object} T @param {T} object */
export function reactive(object) {
  for (const [name, value] of Object.entries(object)) {
    const state = signal(value)
    Object.defineProperty(object, name, {
      get: () => state.value,
      set(changed) {
        state.value = changed
      },
    })
  }
  return object
}

/** Changes several properties at once. @template {object} T @param {T} object @param {Partial<T>} changes */
export const assign = (object, changes) => batch(() => void Object.assign(object, changes))

/** @param {string} selector */
export const find = (selector) => /** @type {HTMLElement | null} */ (document.querySelector(selector))

/** Draws the content of an element. @param {string} id @param {() => unknown} content */
export function mount(id, content) {
  const element = document.getElementById(id)
  if (element !== null) effect(() => void render(content(), element))
}

/** The topmost open dialog beside which nothing else can be used, if there is one. */
export const openDialog = () => Array.from(document.querySelectorAll('dialog:modal')).at(-1)

export class Dialog {
  #element
  #isDone = true
  #isShown = signal(false)

  /** @param {string} id of its element. @param {() => unknown} content @param {Options} [options] */
  constructor(id, content, { closed = () => {}, stays = () => false, refused = () => {} } = {}) {
    const element = /** @type {HTMLDialogElement} */ (document.getElementById(id))
    this.#element = element
    mount(id, () => (this.#isShown.value ? content() : nothing))
    element.addEventListener('cancel', (event) => {
      if (!stays()) return
      event.preventDefault()
      // If the event cannot be cancelled, the dialog closes nonetheless.
      if (event.defaultPrevented) refused()
    })
    element.addEventListener('close', () => {
      if (this.isOpen) return
      // Browsers let a page refuse to close a dialog only once until the user acts again.
      if (!this.#isDone && stays()) {
        this.show()
        return refused()
      }
      this.#isShown.value = false
      closed()
    })
  }

  get isOpen() {
    // Logging out removes it.
    return this.#element.isConnected && this.#element.open
  }

  /** @param {boolean} [isModal] whether nothing beside it can be used. */
  show(isModal = true) {
    this.#isDone = false
    this.#isShown.value = true
    if (this.isOpen || !this.#element.isConnected) return
    if (isModal) this.#element.showModal()
    else this.#element.show()
  }

  close() {
    this.#isDone = true
    this.#element.close()
  }
}

/** Moves the focus into a dialog or the list, if the element that had it is gone. @param {Element} [dialog] */
export function restoreFocus(dialog = openDialog()) {
  const now = document.activeElement
  // After a dialog was closed, an element in it has the focus until the browser renders, but has no rectangle.
  if (now !== null && now !== document.body && now.getClientRects().length > 0) return
  const place = dialog ?? (find('[role=grid]') === null ? find('main') : null)
  if (place === null) return focusCell()
  const first = /** @type {HTMLElement | null} */ (
    place.querySelector(':is(textarea, input, button):enabled:not(.notice *)')
  )
  first?.focus()
}

/** Moves the focus to the cell of the list that Tab leads to. @param {FocusOptions} [options] */
export const focusCell = (options) => find('[role=grid] [tabindex="0"]')?.focus(options)

/**
 * How long a notice is shown, and something can be undone; and how much longer while the mouse was moved to a notice or
 * the keyboard is at one, in milliseconds.
 */
const [TIME, LONGER] = [6000, 1000]

const shown = reactive({
  /** Each notice with what removes it, and what ends its time. */
  notices: /** @type {ReadonlyMap<Notice, Entry>} */ (new Map()),
  dialog: openDialog(),
})

/** Whether the mouse was moved to a notice. A notice that appears under a resting mouse does not count. */
let isPointedAt = false

/** Shows a notice, which screen readers announce. @param {Notice} notice @returns {() => void} removes the notice. */
export function tell(notice) {
  const { stays = false, ended } = notice
  let timer = 0
  const wait = (/** @type {number} */ span) => {
    timer = setTimeout(() => {
      if (isPointedAt || document.querySelector('#notices:focus-within')) return wait(LONGER)
      end()
    }, span)
  }
  const dismiss = () => {
    clearTimeout(timer)
    const hadFocus = document.querySelector('#notices:focus-within') !== null
    const others = new Map(shown.notices)
    others.delete(notice)
    shown.notices = others
    if (others.size === 0) isPointedAt = false
    if (hadFocus) restoreFocus()
  }
  const end = () => {
    dismiss()
    ended?.()
  }
  // A notice replaces the previous one of its kind.
  for (const [other, entry] of shown.notices)
    if (!stays && !other.stays && !ended === !other.ended) entry.end()
  if (!stays) wait(TIME)
  shown.notices = new Map(shown.notices).set(notice, { dismiss, end })
  place()?.scrollTo(0, Number.MAX_SAFE_INTEGER)
  return dismiss
}

const place = () => document.getElementById('notices')

place()?.addEventListener('pointermove', ({ movementX, movementY }) => {
  if (movementX !== 0 || movementY !== 0) isPointedAt = true
})
place()?.addEventListener('pointerleave', () => {
  isPointedAt = false
})

// A modal dialog covers the web page and hides it from screen readers. While one is open, the notices are in it.
new MutationObserver(() => {
  const element = place()
  shown.dialog = openDialog()
  const around = shown.dialog ?? document.body
  if (element === null || element.parentElement === around) return
  // It is no longer where the mouse is, and browsers send no event of that.
  isPointedAt = false
  // Above the fields of a dialog, so that they never cover its buttons.
  if (around === document.body) around.append(element)
  else around.prepend(element)
}).observe(document.body, { subtree: true, attributeFilter: ['open'] })

/** Gives a quoted title a text direction of its own. @param {string} text */
const sentence = (text) =>
  text.split(/“(.*)”/).map((part, index) => (index % 2 === 0 ? part : html`“<bdi>${part}</bdi>”`))

/** @param {number | undefined} part from 0 to 1; undefined if unknown. */
export const progressBar = (part) =>
  part === undefined
    ? html`<progress aria-label=${words.progress}></progress>`
    : html`<progress aria-label=${words.progress} max="1" .value=${part}></progress>`

mount('notices', () =>
  repeat(
    shown.notices,
    ([notice]) => notice,
    ([
      { text, actions = [], stays, hasClose, ended, progress },
      { dismiss, end },
    ]) => html`<div class="notice">
      <span>${sentence(text)}</span>
      ${progress ? progressBar(progress()) : nothing}
      ${actions.map(({ label, run, forPage = false, staysAfter = false }) => {
        if (forPage && shown.dialog !== undefined) return nothing
        const choose = () => {
          run()
          if (!staysAfter) dismiss()
        }
        return html`<button type="button" @click=${choose}>${label}</button>`
      })}
      ${!stays || hasClose ? html`<button type="button" class="close" aria-label=${words.dismiss} @click=${end}>${icon('close')}</button>` : nothing}
      ${ended ? html`<div class="time"></div>` : nothing}
    </div>`,
  ),
)
