/**
 * The log-in of this tab. It outlives a reload, and all tabs of the web page and of /docs share it until one of them logs
 * out.
 *
 * @typedef {{ token: string, username: string, start: number, end: number }} Session from when to when, in milliseconds
 *   since 1970 by the clock of this machine.
 * @typedef {{ began(session: Session): void, endedElsewhere(): void }} Listener
 */

/** How long the token of a log-in lasts, in milliseconds. */
const LIFETIME = 15 * 60_000

// The names contain the path, because a proxy may serve several catalogues on one origin.
const PATH = location.pathname.replace(/\/docs$/, '/')
/** The key of this tab's session in `sessionStorage`, and the name of the channel. */
const SESSION = `session of ${PATH}`
/** The key in `localStorage` of the time when somebody last logged out in any tab. */
const LOGGED_OUT = `logged out of ${PATH}`

/** The key in `sessionStorage` of what is typed, which is kept over a reload. */
const DRAFT = `draft of ${PATH}`

/** Hands a session from tab to tab: a new tab sends `ASK`. The time of a log-out ends it. */
const channel = new BroadcastChannel(SESSION)
const ASK = 'ask'

/** @type {Session | undefined} */
let session
/** A token that is no longer kept or shared: the service has refused it, or the user has logged out. */
let dropped = ''
/** When somebody last logged out, as far as this tab was told. @type {number} */
let left = 0
/** @type {Listener} */
let listener

export const currentToken = () => session?.token ?? ''

/** Continues the session that this tab had before a reload. @param {Listener} each */
export function startSession(each) {
  listener = each
  channel.onmessage = ({ data }) => {
    if (typeof data === 'number') leftElsewhere(data)
    else if (data !== ASK) take(data)
    else if (session !== undefined && isUsable(session)) channel.postMessage(session)
  }
  const kept = stored(() => sessionStorage.getItem(SESSION))
  if (kept) take(JSON.parse(kept))
}

/** @param {number} time of the last log-out; 0 if that was in the future, by a clock that was wrong. */
function leftElsewhere(time) {
  left = time
  if (time === 0 || session === undefined || isUsable(session)) return
  dropSession()
  listener.endedElsewhere()
}

/** Asks the other tabs for their session. `began` is called if there is one. */
export const askOtherTabs = () => channel.postMessage(ASK)

/**
 * Begins the session of a log-in, whatever the clock says.
 * @param {string} token @param {string} username @param {string | null} date of the response, which may be of a proxy.
 */
export function beginSession(token, username, date) {
  const { exp } = JSON.parse(atob(token.split('.')[1]?.replaceAll('-', '+').replaceAll('_', '/') ?? ''))
  // By the clock of the service, because that of this machine may be wrong. A proxy may send another date, or none.
  const left = exp * 1000 - Date.parse(date ?? '')
  const start = Date.now()
  const begun = { token, username, start, end: start + (left > 0 && left < LIFETIME ? left : LIFETIME) }
  // Within a second, the service may issue the same token again.
  dropped = ''
  // The clock was wrong at the last log-out. A reload would otherwise drop the session.
  if (lastLogOut() > Date.now()) {
    tellLogOut(0)
    stored(() => localStorage.removeItem(LOGGED_OUT))
  }
  channel.postMessage(begun)
  keep(begun)
}

/** The token is still sent with what is pending, but no longer kept or shared. */
export function dropSession() {
  dropped = currentToken()
  stored(() => sessionStorage.removeItem(SESSION))
}

/** Ends the session in all tabs. This tab has its token until `forgetSession`. */
export function endSession() {
  dropSession()
  tellLogOut(Date.now())
  stored(() => localStorage.setItem(LOGGED_OUT, String(left)))
}

/** Not only in `localStorage`, which the browser may block. @param {number} time */
function tellLogOut(time) {
  left = time
  channel.postMessage(time)
}

export function forgetSession() {
  session = undefined
}

/** @param {string} text @returns {boolean} whether it is kept for `takeDraft`. */
export function keepDraft(text) {
  stored(() => sessionStorage.setItem(DRAFT, text))
  return stored(() => sessionStorage.getItem(DRAFT)) === text
}

/** Returns what was typed before a reload, and removes it. */
export function takeDraft() {
  const text = stored(() => sessionStorage.getItem(DRAFT))
  stored(() => sessionStorage.removeItem(DRAFT))
  return text ?? undefined
}

/** Takes over a session of another tab, or of this one before a reload. @param {Session} other */
function take(other) {
  if (!isUsable(other)) return
  if (session !== undefined && isUsable(session) && session.end >= other.end) return
  keep(other)
}

/** @param {Session} begun */
function keep(begun) {
  session = begun
  stored(() => sessionStorage.setItem(SESSION, JSON.stringify(begun)))
  listener.began(begun)
}

/**
 * Whether a session has not ended, and nobody has logged out since it began. A tab may not know of the log-out yet, or
 * was closed then and has been opened again.
 * @param {Session} some
 */
const isUsable = ({ token, start, end }) => token !== dropped && end > Date.now() && start > lastLogOut()

/** When somebody last logged out in any tab. */
const lastLogOut = () => Math.max(left, Number(stored(() => localStorage.getItem(LOGGED_OUT)) ?? 0))

/**
 * Uses storage. If the browser blocks it, as it does with cookies, or has no space left, nothing outlives a reload.
 * @template T @param {() => T} use @returns {T | undefined}
 */
export function stored(use) {
  try {
    return use()
  } catch (error) {
    if (!(error instanceof DOMException) || !['SecurityError', 'QuotaExceededError'].includes(error.name))
      throw error
    return undefined
  }
}
