import { html, render } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'

/** @typedef {{ text: string, action?: { label: string, run: () => void } }} Notice */

/** How long a notice stays, in milliseconds. */
const TIME = 6000

/** @type {Set<Notice>} */
const notices = new Set()

/**
 * Tells the user something, also by voice.
 * @param {Notice} notice
 * @param {number} [time] in milliseconds.
 * @returns {() => void} takes it away.
 */
export function tell(notice, time = TIME) {
  notices.add(notice)
  show()
  const dismiss = () => {
    clearTimeout(timer)
    notices.delete(notice)
    show()
  }
  const timer = setTimeout(dismiss, time)
  return dismiss
}

function show() {
  const element = document.getElementById('notices')
  if (element === null) return
  render(
    repeat(
      notices,
      (notice) => notice,
      ({ text, action }) => html`<div class="notice">
        <span dir="auto">${text}</span>
        ${action && html`<button type="button" @click=${action.run}>${action.label}</button>`}
      </div>`,
    ),
    element,
  )
}
