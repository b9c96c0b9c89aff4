import { finishDeletions } from './deletions.js'
import { Away, call, foreign, Refused } from './service.js'
import { currentToken } from './session.js'
import { words } from './words.js'

/**
 * @typedef {{ line: number, field: string | null, code: string, reason: string }} Fault
 * @typedef {object} Report of POST /books/import.
 * @property {string} source
 * @property {string} encoding
 * @property {Record<'title' | 'author' | 'year', string | null>} columns
 * @property {number} rows
 * @property {number} added
 * @property {number} skipped
 * @property {number} without_year
 * @property {number} empty
 * @property {number} faulty
 * @property {Fault[]} faults
 * @property {string[][]} preview
 * @typedef {{ dry_run: boolean, skip_existing?: boolean, skip_faulty?: boolean, columns?: string | undefined, header?: boolean | undefined }} Options
 *   parameters of POST /books/import.
 */

/** The service is busy, for example with another import. */
class Busy extends Away {}

/** How often a check is sent to a busy service, and how long to wait in between, in milliseconds. */
const [ATTEMPTS, BUSY_PAUSE] = [20, 1000]

/**
 * Sends a file by XMLHttpRequest, because `fetch` does not tell how much has been sent.
 * @param {Blob} body @param {string} type its media type. @param {Options} options
 * @param {AbortSignal} signal closes the connection.
 * @param {(sent: number) => void} [progressed] called with the part that was sent, from 0 to 1.
 * @returns {Promise<Report>}
 */
export async function upload(body, type, options, signal, progressed) {
  // Otherwise books of the file would be taken for those that are about to be deleted, and skipped.
  await finishDeletions()
  // Gets another token first, if the service does not accept the present one.
  await call('GET', '/books?limit=1')
  // Browsers do not read a file that has changed since it was chosen. XMLHttpRequest would not tell why.
  await body
    .slice(0, 1)
    .text()
    .catch(() => {
      throw new Error(words.import.unreadable)
    })
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    const given = Object.entries(options).filter(([, value]) => value !== undefined)
    request.open(
      'POST',
      `./books/import?${new URLSearchParams(given.map(([name, value]) => [name, `${value}`]))}`,
    )
    request.setRequestHeader('authorization', currentToken())
    request.setRequestHeader('content-type', type)
    signal.addEventListener('abort', () => {
      request.abort()
      reject(signal.reason)
    })
    request.upload.onprogress = ({ loaded, total }) => {
      if (!signal.aborted) progressed?.(loaded / total)
    }
    request.onerror = () => reject(new Away(words.import.lost))
    request.onload = () => {
      const envelope = parse(request)
      if (request.status === 200 && envelope) resolve(envelope.data)
      else if (request.status === 413)
        reject(new Refused(413, envelope ? words.import.tooLarge : words.import.tooLargeForProxy))
      else if (request.status === 503 || (!envelope && request.status >= 500))
        reject(new Busy(words.import.busy))
      else if (!envelope) reject(foreign(request.status, request.getResponseHeader('content-type')))
      else reject(new Refused(request.status, envelope.message))
    }
    request.send(body)
  })
}

/**
 * Has the service check a file. Tries again for a while if it is busy, as with an import whose connection was lost.
 * @param {Parameters<typeof upload>[0]} body @param {string} type @param {Omit<Options, 'dry_run'>} options
 * @param {AbortSignal} signal @param {(sent: number) => void} [progressed]
 */
export async function check(body, type, options, signal, progressed) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await upload(body, type, { dry_run: true, ...options }, signal, progressed)
    } catch (error) {
      if (!(error instanceof Busy) || attempt === ATTEMPTS) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, BUSY_PAUSE))
  }
}

/**
 * @param {XMLHttpRequest} request
 * @returns {{ message: string, data: Report } | undefined} undefined if the response is not from the service.
 */
function parse({ responseText, status }) {
  try {
    const envelope = JSON.parse(responseText)
    return envelope.status === status ? envelope : undefined
  } catch {
    return undefined
  }
}

/** The kind of a file, by its name. @param {File} file */
export function kindOf({ name }) {
  if (/\.json$/i.test(name)) return { name: words.import.json, type: 'application/json' }
  return /\.(ndjson|jsonl)$/i.test(name)
    ? { name: words.import.ndjson, type: 'application/x-ndjson' }
    : { name: words.import.csv, type: 'text/csv' }
}
