import { html, render } from 'lit-html'
import { finishPending } from './pending.js'
import { forgetToken, logIn, Refused, whenTokenIsNeeded } from './service.js'

/** How long before a token ends the password is asked for, in milliseconds. */
const AHEAD = 60_000

let username = ''
let message = ''
let isBusy = false
/** What the page says from a log-out until it is reloaded. @type {string | undefined} */
let leaving
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer
/** Those who wait for a token. @type {PromiseWithResolvers<void> | undefined} */
let waiting

/** Lets every call that needs a token wait for the user, in a dialog above whatever is being typed. */
export function startLogin() {
  whenTokenIsNeeded(() => {
    waiting ??= Promise.withResolvers()
    show()
    return waiting.promise
  })
}

/** Sends what is pending, waits a bounded time for the answers, and logs out whatever they are. */
export async function logOut() {
  clearTimeout(timer)
  whenTokenIsNeeded(async () => {
    throw new Refused(401, 'You are not logged in.')
  })
  for (const element of Array.from(document.body.children)) if (element.id !== 'login') element.remove()
  leaving = 'Logging out…'
  isBusy = true
  show()
  const told = await finishPending()
  forgetToken()
  if (told.length === 0) return location.reload()
  leaving = `You are logged out. ${told.join(' ')}`
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
    const lifetime = await logIn(name, String(fields.get('password')))
    username = name
    clearTimeout(timer)
    timer = setTimeout(show, Math.max(lifetime - AHEAD, 0))
    form.reset()
    dialog()?.close()
    waiting?.resolve()
    waiting = undefined
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
  if (!(error instanceof Refused)) return 'The service does not answer. Try again in a moment.'
  if (error.status === 401) return 'The username or the password is wrong.'
  if (error.status === 429) return 'Too many attempts. Wait some minutes, then try again.'
  return error.message
}

/** The first log-in cannot be put off: there is nothing behind it. @param {Event} event */
function cancel(event) {
  if (!canBePutOff()) event.preventDefault()
}

/** Browsers let a dialog refuse to be closed only once before its user does something else. */
function closed() {
  if (!canBePutOff()) return show()
  waiting?.reject(new Refused(401, 'You are not logged in.'))
  waiting = undefined
}

const canBePutOff = () => username !== '' && leaving === undefined

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
  return html`<dialog class=${isFirst ? 'login first' : 'login'} aria-labelledby="login-title" @cancel=${cancel} @close=${closed}>
    <form @submit=${submit}>
      <h1 id="login-title">${isFirst ? 'Book Catalogue' : 'Your password, please'}</h1>
      ${
        isFirst
          ? html`<label>Username <input name="username" autocomplete="username" required autofocus /></label>`
          : html`<p>The log-in of <b>${username}</b> ends after 15 minutes. Nothing that you typed is lost.</p>`
      }
      <label>Password
        <input name="password" type="password" autocomplete="current-password" required ?autofocus=${!isFirst} />
      </label>
      <p class="error" role="alert">${message}</p>
      <div class="buttons"><button class="main" ?disabled=${isBusy}>Log in</button></div>
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
    <h1 id="login-title">Book Catalogue</h1>
    <p role="status">${text}</p>
    <div class="buttons"><button type="button" class="main" ?disabled=${isBusy} @click=${() => location.reload()}>Log in again</button></div>
  </form>
</dialog>`
