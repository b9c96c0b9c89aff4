import { html, render } from 'lit-html'
import { finishPending } from './pending.js'
import { forgetToken, logIn, Refused, whenTokenIsNeeded } from './service.js'
import { words } from './words.js'

/** How long before a token ends the password is asked for, in milliseconds. */
const AHEAD = 60_000

let username = ''
let message = ''
let isBusy = false
/** Whether the password is asked for ahead of time. */
let isAhead = false
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
    throw new Refused(401, words.login.needed)
  })
  for (const element of Array.from(document.body.children)) if (element.id !== 'login') element.remove()
  leaving = words.login.leaving
  isBusy = true
  show()
  const told = await finishPending()
  forgetToken()
  if (told.length === 0) return location.reload()
  leaving = [words.login.left, ...told].join(' ')
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
    isAhead = false
    clearTimeout(timer)
    timer = setTimeout(
      () => {
        isAhead = true
        show()
      },
      Math.max(lifetime - AHEAD, 0),
    )
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
  if (!(error instanceof Refused)) return words.awayMoment
  if (error.status === 401) return words.login.wrong
  if (error.status === 429) return words.login.tooMany
  return error.message
}

/** The first log-in cannot be put off: there is nothing behind it. @param {Event} event */
function cancel(event) {
  if (!canBePutOff()) event.preventDefault()
}

/** Browsers let a dialog refuse to be closed only once before its user does something else. */
function closed() {
  if (!canBePutOff()) return show()
  waiting?.reject(new Refused(401, words.login.needed))
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
      <h1 id="login-title">${isFirst ? words.catalogue : isAhead ? words.login.expiring : words.login.expired}</h1>
      ${
        isFirst
          ? html`<label>${words.login.username} <input name="username" autocomplete="username" required autofocus /></label>`
          : html`<p>${words.login.hint}</p>
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
    <h1 id="login-title">${words.catalogue}</h1>
    <p role="status">${text}</p>
    <div class="buttons"><button type="button" class="main" ?disabled=${isBusy} @click=${() => location.reload()}>${words.login.again}</button></div>
  </form>
</dialog>`
