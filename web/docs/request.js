import { needsToken } from './openapi.js'
import { beginSession, currentToken, dropSession, forgetSession } from './session.js'

/** @typedef {import('./openapi.js').Operation} Operation */
/** @typedef {{ curl: string, status: string, headers: string, body: string, isCut: boolean }} Exchange */

/** A longer response is cut, so that the list of a large catalogue does not stop the browser. In characters. */
const LONGEST = 200_000

/**
 * Sends what is typed.
 * @param {Operation} operation @param {HTMLFormElement} form @returns {Promise<Exchange>}
 * @throws {TypeError} if there is no response.
 */
export async function send(operation, form) {
  const request = requestOf(operation, new FormData(form))
  const { url, method, headers, body } = request
  const response = await fetch(url, { method, headers, body, cache: 'no-store' })
  const { text, isCut } = await read(response)
  useSession(operation, request, response, text)
  return {
    curl: curlOf(request),
    status: `${response.status} ${response.statusText}`.trim(),
    headers: Array.from(response.headers, ([name, value]) => `${name}: ${value}`).join('\n'),
    body: isCut ? text : indented(text),
    isCut,
  }
}

/**
 * @param {Operation} operation @param {FormData} typed
 * @returns {{ url: string, method: string, headers: Record<string, string>, body: string | File | null }}
 */
function requestOf(operation, typed) {
  const { method, path, parameters, requestBody } = operation
  const text = (/** @type {string} */ name) => String(typed.get(name) ?? '')
  const given = parameters.filter(({ name }) => text(name) !== '')
  const ofKind = (/** @type {string} */ kind) => given.filter((parameter) => parameter.in === kind)
  const token = needsToken(operation) ? currentToken() : ''
  /** @type {Record<string, string>} */
  const headers = {}
  if (token !== '') headers.Authorization = token
  if (requestBody) headers['Content-Type'] = text('media type')
  for (const { name } of ofKind('header')) headers[name] = text(name)
  const filled = ofKind('path').reduce(
    (before, { name }) => before.replace(`{${name}}`, encodeURIComponent(text(name))),
    path,
  )
  const query = new URLSearchParams(ofKind('query').map(({ name }) => [name, text(name)]))
  const file = typed.get('file')
  // A field in which no file is chosen has one without a name.
  const isChosen = file instanceof File && file.name !== ''
  return {
    // Relative to the page, because a proxy may serve the service under a path of its own.
    url: `.${filled}${query.size > 0 ? `?${query}` : ''}`,
    method,
    headers,
    body: isChosen ? file : requestBody ? text('body') : null,
  }
}

/** @param {Response} response */
async function read({ body }) {
  let text = ''
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { done: true }
    if (done) return { text, isCut: false }
    text += value
    if (text.length > LONGEST) {
      await reader?.cancel()
      return { text: text.slice(0, LONGEST), isCut: true }
    }
  }
}

/** @param {string} text */
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    // CSV, NDJSON, or the page of a proxy.
    return text
  }
}

/**
 * Begins the session of a log-in, and ends one whose token the service refuses.
 * @param {Operation} operation @param {ReturnType<typeof requestOf>} request @param {Response} response @param {string} text
 */
function useSession(operation, { body, headers: sent }, { ok, status, headers }, text) {
  if (operation.operationId === 'logIn' && ok)
    beginSession(JSON.parse(text).data.token, JSON.parse(String(body)).username, headers.get('date'))
  // The response may be late, and the user has logged in meanwhile.
  if (status === 401 && needsToken(operation) && (sent.Authorization ?? '') === currentToken()) {
    dropSession()
    forgetSession()
  }
}

/** The request as a command. @param {ReturnType<typeof requestOf>} request */
function curlOf({ url, method, headers, body }) {
  const quoted = (/** @type {string} */ text) => `'${text.replaceAll("'", "'\\''")}'`
  const parts = [`curl -X ${method} ${quoted(new URL(url, location.href).href)}`]
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`)
  if (body instanceof File) parts.push(`--data-binary ${quoted(`@${body.name}`)}`)
  else if (body !== null) parts.push(`--data-raw ${quoted(body)}`)
  return parts.join(' \\\n  ')
}
