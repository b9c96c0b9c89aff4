import { html, render } from 'lit-html'
import { logo } from './icons.js'
import { tell } from './notices.js'
import { awayText, finishPending, logIn, Refused, whenTokenIsNeeded } from './service.js'
import { askOtherTabs, endSession, forgetSession, startSession } from './session.js'
import { words } from './words.js'

/** How long before its end a notice says that a session ends, in milliseconds. */
const AHEAD = 60_000

/** How long the other tabs have to hand over their session before the password is asked for, in milliseconds. */
const PATIENCE = 100

let username = ''
let message = ''
let isBusy = false
/** Why the password is asked for again. @type {'expiring' | 'expired' | 'left'} */
let reason = 'expired'
/** The message between a log-out and the reload. @type {string | undefined} */
let leaving
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer
/** Removes the notice that the session ends. */
let dismissExpiring = () => {}
/** What calls wait for while there is no token. @type {PromiseWithResolvers<void> | undefined} */
let waiting

/** Makes calls without a token wait until the user has logged in, in a dialog above whatever is being typed. */
export function startLogin() {
  whenTokenIsNeeded(() => {
    waiting ??= Promise.withResolvers()
    dismissExpiring()
    if (reason === 'expiring') reason = 'expired'
    askOtherTabs()
    setTimeout(() => waiting && show(), PATIENCE)
    return waiting.promise
  })
  startSession({ began, endedElsewhere })
  // Otherwise Escape would reach the dialog below, which would then be above this one.
  addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && dialog()?.open && !canBePutOff()) event.preventDefault()
  })
}

/** @param {import('./session.js').Session} session */
function began({ username: name, end }) {
  username = name
  reason = 'expired'
  clearTimeout(timer)
  timer = setTimeout(tellExpiring, Math.max(end - Date.now() - AHEAD, 0))
  dismissExpiring()
  dialog()?.querySelector('form')?.reset()
  dialog()?.close()
  waiting?.resolve()
  waiting = undefined
}

/** A notice, because a dialog would take the focus from what is being typed. */
function tellExpiring() {
  reason = 'expiring'
  const actions = [{ label: words.login.renew, run: show }]
  dismissExpiring = tell({ text: words.login.ending, actions }, Number.POSITIVE_INFINITY)
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
  leaving = words.login.leaving
  isBusy = true
  show()
  await finishPending()
  forgetSession()
  leaving = undefined
  isBusy = false
  reason = 'left'
  show()
}

/** Sends what is pending, waits a limited time for the responses, and logs out whatever they are. */
async function leave() {
  clearTimeout(timer)
  whenTokenIsNeeded(async () => {
    throw new Refused(401, words.login.needed)
  })
  for (const element of Array.from(document.body.children)) if (element.id !== 'login') element.remove()
  leaving = words.login.leaving
  isBusy = true
  show()
  const told = await finishPending()
  forgetSession()
  if (told.length === 0) return location.reload()
  leaving = [`${words.login.left}.`, ...told].join(' ')
  isBusy = false
  draw()
}

/** @param {SubmitEvent} event */
async function submit(event) {
  event.preventDefault()
  const form = /** @type {HTMLFormElement} */ (event.target)
  const fields = new FormData(form)
  const name = username || String(fields.get('username'))
  isBusy = true
  message = ''
  show()
  try {
    await logIn(name, String(fields.get('password')))
  } catch (error) {
    message = explain(error)
  } finally {
    isBusy = false
    draw()
  }
  if (message !== '') form.querySelector('input')?.focus()
}

/** @param {unknown} error */
function explain(error) {
  if (!(error instanceof Refused)) return words.moment(awayText(error))
  if (error.status === 401) return words.login.wrong
  if (error.status === 403) return words.login.crossOrigin
  if (error.status === 429) return words.login.tooMany
  return error.message
}

/** The first log-in cannot be put off, because there is nothing behind it. @param {Event} event */
function cancel(event) {
  if (!canBePutOff()) event.preventDefault()
}

/** Reopens a dialog that must stay: browsers let a page refuse to close one only once until the user acts again. */
function closed() {
  if (!canBePutOff()) return show()
  message = ''
  waiting?.reject(new Refused(401, words.login.needed))
  waiting = undefined
}

const canBePutOff = () => username !== '' && leaving === undefined && reason !== 'left'

const dialog = () => /** @type {HTMLDialogElement | null} */ (document.querySelector('#login dialog'))

function show() {
  draw()
  const element = dialog()
  if (element !== null && !element.open) element.showModal()
}

function draw() {
  const element = document.getElementById('login')
  if (element === null) return
  render(leaving === undefined ? asking() : farewell(leaving), element)
}

function asking() {
  const isFirst = username === ''
  return html`<dialog class=${canBePutOff() ? 'login' : 'login first'} aria-labelledby="login-title" @cancel=${cancel} @close=${closed}>
    <form @submit=${submit}>
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
    </form>
  </dialog>`
}

/** @param {string} text */
const farewell = (text) => html`<dialog
  class="login first"
  aria-labelledby="login-title"
  @cancel=${cancel}
  @close=${closed}
>
  <form>
    <h1 id="login-title">${logo}${words.catalogue}</h1>
    <p role="status">${text}</p>
    <div class="buttons"><button type="button" class="main" ?disabled=${isBusy} @click=${() => location.reload()}>${words.login.again}</button></div>
  </form>
</dialog>`
