import { html } from 'lit-html'
import { Dialog, find, reactive, tell } from './dialog.js'
import { logo } from './icons.js'
import { awayText, finishPending, logIn, Refused, whenTokenIsNeeded } from './service.js'
import { askOtherTabs, endSession, forgetSession, startSession } from './session.js'
import { words } from './words.js'

/** How long before its end a notice says that a session ends, in milliseconds. */
const AHEAD = 60_000

/** How long the other tabs have to hand over their session before the password is asked for, in milliseconds. */
const PATIENCE = 100

const state = reactive({
  username: '',
  message: '',
  isBusy: false,
  /** Why the password is asked for again. */
  reason: /** @type {'expiring' | 'expired' | 'left'} */ ('expired'),
  /** The message between a log-out and the reload. */
  leaving: /** @type {string | undefined} */ (undefined),
})
let timer = 0
/** Removes the notice that the session ends. */
let dismissExpiring = () => {}
/** What calls wait for while there is no token. @type {PromiseWithResolvers<void> | undefined} */
let waiting

/** The first log-in cannot be put off, because there is nothing behind it. */
const canBePutOff = () => state.username !== '' && state.leaving === undefined && state.reason !== 'left'

const dialog = new Dialog('login', () => (state.leaving === undefined ? asking() : farewell(state.leaving)), {
  stays: () => !canBePutOff(),
  closed: putOff,
})

function putOff() {
  state.message = ''
  waiting?.reject(new Refused(401, words.login.needed))
  waiting = undefined
}

/** Makes calls without a token wait until the user has logged in, in a dialog above whatever is being typed. */
export function startLogin() {
  whenTokenIsNeeded(() => {
    waiting ??= Promise.withResolvers()
    dismissExpiring()
    if (state.reason === 'expiring') state.reason = 'expired'
    askOtherTabs()
    setTimeout(() => waiting && dialog.show(), PATIENCE)
    return waiting.promise
  })
  startSession({ began, endedElsewhere })
  // Otherwise Escape would reach the dialog below, which would then be above this one.
  addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && dialog.isOpen && !canBePutOff()) event.preventDefault()
  })
}

/** @param {import('./session.js').Session} session */
function began({ username, end }) {
  state.username = username
  state.reason = 'expired'
  clearTimeout(timer)
  timer = setTimeout(() => tellExpiring(end), Math.max(end - Date.now() - AHEAD, 0))
  dismissExpiring()
  dialog.close()
  waiting?.resolve()
  waiting = undefined
}

/** A notice, because a dialog would take the focus from what is being typed. @param {number} end of the session. */
function tellExpiring(end) {
  // While the computer sleeps, its timers do too.
  if (end <= Date.now()) return
  state.reason = 'expiring'
  const actions = [{ label: words.login.renew, run: () => dialog.show() }]
  dismissExpiring = tell({ text: words.login.ending, actions, stays: true })
}

/** Logs out in all tabs. */
export function logOut() {
  endSession()
  void leave()
}

/** Handles a log-out in another tab. What is typed in this one is kept, behind the password prompt. */
async function endedElsewhere() {
  // The listeners of `beforeunload` cancel it if something is unsaved.
  const isUnsaved = !dispatchEvent(new Event('beforeunload', { cancelable: true }))
  if (!isUnsaved) return leave()
  clearTimeout(timer)
  state.leaving = words.login.leaving
  state.isBusy = true
  dialog.show()
  await finishPending()
  forgetSession()
  state.leaving = undefined
  state.isBusy = false
  state.reason = 'left'
  find('#login input')?.focus()
}

/** Sends what is pending, waits a limited time for the responses, and logs out whatever they are. */
async function leave() {
  clearTimeout(timer)
  whenTokenIsNeeded(async () => {
    throw new Refused(401, words.login.needed)
  })
  for (const element of Array.from(document.body.children)) if (element.id !== 'login') element.remove()
  state.leaving = words.login.leaving
  state.isBusy = true
  dialog.show()
  const told = await finishPending()
  forgetSession()
  if (told.length === 0) return location.reload()
  state.leaving = [`${words.login.left}.`, ...told].join(' ')
  state.isBusy = false
}

/** @param {SubmitEvent} event */
async function submit(event) {
  event.preventDefault()
  const form = /** @type {HTMLFormElement} */ (event.target)
  const fields = new FormData(form)
  const name = state.username || String(fields.get('username'))
  state.isBusy = true
  state.message = ''
  try {
    await logIn(name, String(fields.get('password')))
  } catch (error) {
    state.message = explain(error)
  } finally {
    state.isBusy = false
  }
  if (state.message !== '') form.querySelector('input')?.focus()
}

/** @param {unknown} error */
function explain(error) {
  if (!(error instanceof Refused)) return words.moment(awayText(error))
  if (error.status === 401) return words.login.wrong
  if (error.status === 403) return words.login.crossOrigin
  if (error.status === 429) return words.login.tooMany
  return error.message
}

function asking() {
  const { username, message, isBusy, reason } = state
  const isFirst = username === ''
  return html`<form class=${canBePutOff() ? '' : 'first'} @submit=${submit}>
    <h1 id="login-title">${logo}${isFirst ? words.catalogue : words.login[reason]}</h1>
    ${
      isFirst
        ? html`<p>${words.login.welcome}</p>
            <label>${words.login.username} <input name="username" autocomplete="username" required autofocus /></label>`
        : html`<p>${reason === 'left' ? words.login.leftElsewhere : words.login.hint}</p>
            <p>${words.login.username}: <b>${username}</b></p>`
    }
    <label>${words.login.password}
      <input name="password" type="password" autocomplete="current-password" required ?autofocus=${!isFirst} />
    </label>
    <p class="error" role="alert">${message}</p>
    <div class="buttons"><button class="main" ?disabled=${isBusy}>${words.login.logIn}</button></div>
  </form>`
}

/** @param {string} text */
const farewell = (text) => html`<form class="first">
  <h1 id="login-title">${logo}${words.catalogue}</h1>
  <p role="status">${text}</p>
  <div class="buttons"><button type="button" class="main" ?disabled=${state.isBusy} @click=${() => location.reload()}>${words.login.again}</button></div>
</form>`
