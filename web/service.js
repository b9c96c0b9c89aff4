import { words } from './words.js'

/**
 * The calls to the service. The token is here only, in memory.
 *
 * @typedef {{ id: number, title: string, author: string, year: number }} Book
 * @typedef {{ title: string, author: string, year: number }} NewBook
 * @typedef {{ body?: unknown, headers?: Record<string, string>, signal?: AbortSignal, keepalive?: boolean }} Options
 */

/** The service refuses a request: the status and the message of its envelope. */
export class Refused extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message)
    this.status = status
  }
}

/** The service cannot be reached, or says itself that it cannot serve now: then `isBusy`. */
export class Away extends Error {
  /** @param {string} message @param {boolean} [isBusy] */
  constructor(message, isBusy = false) {
    super(message)
    this.isBusy = isBusy
  }
}

let token = ''
/** @type {() => Promise<void>} */
let getToken = async () => {}

/** Why there was no other token when one was last asked for. @type {unknown} */
let declined

/** @param {() => Promise<void>} ask what to do when a token is needed; settled once there is one. */
export function whenTokenIsNeeded(ask) {
  getToken = ask
}

export const currentToken = () => token

/**
 * @param {string} username
 * @param {string} password
 * @returns {Promise<number>} how long the token lives, in milliseconds.
 */
export async function logIn(username, password) {
  const response = await send('POST', '/token', { body: { username, password } })
  const { data } = await response.json()
  token = data.token
  const { exp } = JSON.parse(atob(token.split('.')[1]?.replaceAll('-', '+').replaceAll('_', '/') ?? ''))
  // By the clock of the service: that of this machine may be wrong.
  return exp * 1000 - Date.parse(response.headers.get('date') ?? '')
}

export function forgetToken() {
  token = ''
}

/**
 * Calls the service; if it does not accept the token, once more with another.
 * @param {string} method
 * @param {string} path
 * @param {Options} [options]
 * @throws {Refused | Away | DOMException} the last when the signal has aborted it.
 */
export async function call(method, path, options = {}) {
  if (token === '') await getToken()
  const used = token
  const declinedBefore = declined
  try {
    return await send(method, path, options)
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 401) throw error
    // Another call may have got one meanwhile, or been declined one.
    if (token === used && declined !== declinedBefore) throw declined
    if (token === used) await getToken().catch(decline)
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
  const response = await fetch(path, {
    method,
    headers: { ...(token !== '' && { authorization: token }), ...headers },
    body: body === undefined ? null : JSON.stringify(body),
    signal: signal ?? null,
    keepalive,
    cache: 'no-store',
  }).catch((error) => {
    throw signal?.aborted ? error : new Away(words.unreachable)
  })
  if (response.ok) return response
  const envelope = await response.json().catch(() => undefined)
  const message = envelope?.message ?? words.unexpected(response.status)
  if (response.status === 503 || envelope === undefined) throw new Away(message, response.status === 503)
  throw new Refused(response.status, message)
}

/** @param {unknown} error */
export const wasAborted = (error) => error instanceof DOMException && error.name === 'AbortError'
