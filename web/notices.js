import { html, render } from 'lit-html'
import { repeat } from 'lit-html/directives/repeat.js'

/** @typedef {{ text: string, actions?: { label: string, run: () => void }[] }} Notice */

/** How long a notice stays, in milliseconds. */
const TIME = 6000

/** What takes each away. @type {Map<Notice, () => void>} */
const notices = new Map()

/**
 * Tells the user something, also by voice. One of its actions takes the notice away.
 * @param {Notice} notice
 * @param {number} [time] in milliseconds; infinite for one that stays until an action is chosen.
 * @returns {() => void} takes it away.
 */
export function tell(notice, time = TIME) {
  const dismiss = () => {
    clearTimeout(timer)
    notices.delete(notice)
    show()
  }
  // A timer cannot be infinite: it would end at once.
  const timer = Number.isFinite(time) ? setTimeout(dismiss, time) : undefined
  notices.set(notice, dismiss)
  show()
  return dismiss
}

function show() {
  const element = document.getElementById('notices')
  if (element === null) return
  render(
    repeat(
      notices,
      ([notice]) => notice,
      ([{ text, actions = [] }, dismiss]) => html`<div class="notice">
        <span dir="auto">${text}</span>
        ${actions.map(({ label, run }) => {
          const choose = () => {
            dismiss()
            run()
          }
          return html`<button type="button" @click=${choose}>${label}</button>`
        })}
      </div>`,
    ),
    element,
  )
}
