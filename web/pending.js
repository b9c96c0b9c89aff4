import { words } from './words.js'

/**
 * What the user has asked for and the service has not answered yet. It is sent before the page goes away, and a log-out
 * waits for the answers.
 *
 * @typedef {object} Pending
 * @property {string} what a clause that becomes true with it, such as "“Emma” was deleted".
 * @property {() => Promise<string | undefined>} finish sends it unless it has been sent, and resolves with what to
 *   tell the user if it fails.
 */

/** How long a log-out waits for the answers, in milliseconds. */
const PATIENCE = 5000

/** @type {Set<Pending>} */
export const pending = new Set()

/** Makes work pending until it is done. @param {string} what @param {Promise<string | undefined>} work */
export function track(what, work) {
  const entry = { what, finish: () => work }
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

// A page that is hidden may never be shown again. Nothing else tells a phone's page.
addEventListener('visibilitychange', () => {
  if (document.visibilityState === 'hidden') for (const { finish } of pending) void finish()
})
