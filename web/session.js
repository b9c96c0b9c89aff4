/**
 * The log-in of this tab. It outlives a reload, and all tabs of the page share it until one of them logs out.
 *
 * @typedef {{ token: string, username: string, start: number, end: number }} Session from when to when, in milliseconds
 *   since 1970 by the clock of this machine.
 * @typedef {{ began(session: Session): void, endedElsewhere(): void }} Listener
 */

// A proxy may serve other catalogues of the same origin, each under a path of its own.
/** Where the session of this tab is kept. */
const SESSION = `session of ${location.pathname}`
/** Where it is kept when somebody last logged out in any tab. */
const LOGGED_OUT = `logged out of ${location.pathname}`

/** Where what is typed is kept over a reload. */
const DRAFT = `draft of ${location.pathname}`

/** Hands a session from tab to tab: a new tab sends `ASK`. */
const channel = new BroadcastChannel(SESSION)
const ASK = 'ask'

/** @type {Session | undefined} */
let session
/** A token that is not kept or shared any more: it was refused by the service, or logged out. */
let dropped = ''
/** @type {Listener} */
let listener

export const currentToken = () => session?.token ?? ''

/** Goes on with the session that this tab had before a reload. @param {Listener} each */
export function startSession(each) {
  listener = each
  channel.onmessage = ({ data }) => {
    if (data !== ASK) take(data)
    else if (session !== undefined && isUsable(session)) channel.postMessage(session)
  }
  addEventListener('storage', ({ key, newValue }) => {
    if (key !== LOGGED_OUT || newValue === null || session === undefined || isUsable(session)) return
    dropSession()
    listener.endedElsewhere()
  })
  const kept = stored(() => sessionStorage.getItem(SESSION))
  if (kept) take(JSON.parse(kept))
}

/** Asks the other tabs for their session, which `began` tells, if there is one. */
export const askOtherTabs = () => channel.postMessage(ASK)

/** Takes the session of a log-in, whatever the clock says. @param {Session} begun */
export function beginSession(begun) {
  // The service may issue the same token twice in a second.
  dropped = ''
  // The clock was wrong then. A reload would drop the session.
  if (lastLogOut() > Date.now()) stored(() => localStorage.removeItem(LOGGED_OUT))
  channel.postMessage(begun)
  keep(begun)
}

/** The token is sent with what is pending, but is neither kept nor shared. */
export function dropSession() {
  dropped = currentToken()
  stored(() => sessionStorage.removeItem(SESSION))
}

/** Ends the session in all tabs; in this one the token is there until `forgetSession`. */
export function endSession() {
  dropSession()
  stored(() => localStorage.setItem(LOGGED_OUT, String(Date.now())))
}

export function forgetSession() {
  session = undefined
}

/** @param {string} text @returns {boolean} whether it is kept for `takeDraft`. */
export function keepDraft(text) {
  stored(() => sessionStorage.setItem(DRAFT, text))
  return stored(() => sessionStorage.getItem(DRAFT)) === text
}

/** What was typed before a reload, once. */
export function takeDraft() {
  const text = stored(() => sessionStorage.getItem(DRAFT))
  stored(() => sessionStorage.removeItem(DRAFT))
  return text ?? undefined
}

/** Takes a session that another tab, or this one before a reload, had. @param {Session} other */
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
 * Whether nobody has logged out since it began: a tab may not have heard of that yet, or was closed then and has been
 * opened again.
 * @param {Session} some
 */
const isUsable = ({ token, start, end }) => token !== dropped && end > Date.now() && start > lastLogOut()

/** When somebody last logged out in any tab. */
const lastLogOut = () => Number(stored(() => localStorage.getItem(LOGGED_OUT)) ?? 0)

/**
 * Where a browser blocks storage, as it does with cookies, or has no space left, a session lasts until a reload.
 * @template T @param {() => T} use @returns {T | undefined}
 */
function stored(use) {
  try {
    return use()
  } catch (error) {
    if (!(error instanceof DOMException) || !['SecurityError', 'QuotaExceededError'].includes(error.name))
      throw error
    return undefined
  }
}
