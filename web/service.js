import { beginSession, currentToken, dropSession } from './session.js'
import { words } from './words.js'

/**
 * The calls to the service, and what it has not answered yet.
 *
 * @typedef {{ body?: unknown, headers?: Record<string, string>, signal?: AbortSignal, keepalive?: boolean, isHint?: boolean }} Options
 *   `isHint`: the user has not asked for it, so that it does not ask for the password.
 */

/** The service has refused a request, with this status and message in its envelope. */
export class Refused extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message)
    this.status = status
  }
}

/** The service cannot be reached, is busy, or something else has answered instead. The message says which. */
export class Away extends Error {}

/** Why there was no response of the service, as the beginning of a sentence. @param {unknown} error */
export const awayText = (error) => (error instanceof Away ? error.message : words.away)

/** @type {() => Promise<void>} */
let getToken = async () => {}

/** Why the last request for another token failed. @type {unknown} */
let declined

/** What a proxy answers instead of the service, as long as it does. @type {string | undefined} */
let interception
/** @type {(text: string | undefined) => void} */
let tellInterception = () => {}

/** @param {typeof tellInterception} tell called with what a proxy answers; with undefined once it does not. */
export function whenIntercepted(tell) {
  tellInterception = tell
}

/** @param {string | undefined} text */
function setInterception(text) {
  if (text !== interception) tellInterception(text)
  interception = text
}

/**
 * The error for a response that is not from the service.
 * @param {number} status @param {string | null} mediaType @param {string} [what] describes the response.
 */
export function foreign(status, mediaType, what = words.proxy.page(status, mediaType)) {
  // Proxies answer like this when they do not reach the service.
  if (status >= 500) return new Away(words.away)
  setInterception(words.proxy.answers(what))
  return new Away(words.proxy.short)
}

/** @param {() => Promise<void>} ask called when a token is needed; resolves once there is one. */
export function whenTokenIsNeeded(ask) {
  getToken = ask
}

/** @param {string} username @param {string} password */
export async function logIn(username, password) {
  const response = await send('POST', '/token', { body: { username, password } })
  /** @type {{ data: { token: string } }} */
  const { data } = await response.json()
  beginSession(data.token, username, response.headers.get('date'))
}

/**
 * Sends a request, and if the service does not accept the token, once more with another token.
 * @param {string} method @param {string} path @param {Options} [options]
 * @throws {Refused | Away | DOMException} the last if the signal has aborted the request.
 */
export async function call(method, path, options = {}) {
  if (currentToken() === '') {
    if (options.isHint) throw new Refused(401, words.login.needed)
    await getToken()
  }
  const used = currentToken()
  const declinedBefore = declined
  try {
    return await send(method, path, options)
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 401 || options.isHint) throw error
    // Another call may have got a new token meanwhile, or failed to get one.
    if (currentToken() === used) {
      if (declined !== declinedBefore) throw declined
      dropSession()
      await getToken().catch(decline)
    }
    return send(method, path, options)
  }
}

/** @param {unknown} error @returns {never} */
function decline(error) {
  declined = error
  throw error
}

/** @param {string} method @param {string} path @param {Options} options */
async function send(method, path, { body, headers, signal, keepalive = false }) {
  const token = currentToken()
  const wasIntercepted = interception !== undefined
  // Relative to the address of the web page, because a proxy may serve the service under a path of its own.
  const response = await fetch(`.${path}`, {
    method,
    headers: { ...(token !== '' && { authorization: token }), ...headers },
    body: body === undefined ? null : JSON.stringify(body),
    signal: signal ?? null,
    keepalive,
    cache: 'no-store',
    // The service sends no redirects, but a proxy that wants a log-in does, often to another origin.
    redirect: 'manual',
  }).catch((error) => {
    throw signal?.aborted ? error : new Away(words.away)
  })
  const { ok, status, type } = response
  const mediaType = response.headers.get('content-type')
  const isData = /^(application\/(json|x-ndjson)|text\/csv)\b/.test(mediaType ?? '')
  const envelope = ok ? undefined : await response.json().catch(() => undefined)
  if (ok ? isData : envelope?.status === status) {
    // Only a request that was sent since the proxy intercepts shows that it lets requests through again.
    if (wasIntercepted) setInterception(undefined)
    if (ok) return response
    if (status === 503) throw new Away(words.busy)
    throw new Refused(status, envelope.message)
  }
  // Proxies have limits of their own for bodies, addresses and headers.
  if ([413, 414, 431].includes(status)) throw new Refused(status, words.editor.tooLong)
  const isBasic = /^basic\b/i.test(response.headers.get('www-authenticate') ?? '')
  const { redirect, basic } = words.proxy
  throw foreign(status, mediaType, type === 'opaqueredirect' ? redirect : isBasic ? basic : undefined)
}

/** The path of the next page of a list, if there is one. @param {Response} response */
export function nextPath({ headers }) {
  const next = /^<([^>]*)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1]
  return next && `/${next}`
}

/** @param {unknown} error */
export const wasAborted = (error) => error instanceof DOMException && error.name === 'AbortError'

/**
 * What the user has asked for and the service has not answered yet. It is sent when the web page is hidden or closed,
 * and a log-out waits for the responses.
 *
 * @typedef {object} Pending
 * @property {string} what a clause that is true once it is done, such as "“Emma” was deleted".
 * @property {() => Promise<string | undefined>} finish sends it unless it has been sent; resolves with what to tell
 *   the user if it has failed.
 * @property {boolean} [asks] whether the browser asks before it leaves the web page.
 * @property {boolean} [isDeletion] whether it can still be undone, or deletes books that are no longer shown.
 */

/** How long a log-out waits for the responses, in milliseconds. */
const PATIENCE = 5000

/** @type {Set<Pending>} */
export const pending = new Set()

/** @param {string} what see `Pending`. @param {Promise<string | undefined>} work @param {boolean} [asks] */
export function track(what, work, asks = true) {
  const entry = { what, finish: () => work, asks }
  pending.add(entry)
  void work.finally(() => pending.delete(entry))
}

/** Sends what is pending. @returns {Promise<string[]>} what has failed or was not answered in time. */
export async function finishPending() {
  const { promise: patience, resolve } = Promise.withResolvers()
  setTimeout(resolve, PATIENCE)
  const told = await Promise.all(
    Array.from(pending, ({ what, finish }) =>
      Promise.race([finish(), patience.then(() => words.login.unknown(what))]),
    ),
  )
  return told.filter((text) => text !== undefined)
}

addEventListener('beforeunload', (event) => {
  if (Array.from(pending).some(({ asks }) => asks)) event.preventDefault()
})

// On a phone, a hidden web page may never be shown again, and no other event announces that. Elsewhere it is often only
// behind another tab, and what can be undone still can.
const isPhone = matchMedia('(pointer: coarse)').matches
addEventListener(isPhone ? 'visibilitychange' : 'pagehide', () => {
  if (!isPhone || document.visibilityState === 'hidden') for (const { finish } of pending) void finish()
})
