/** How long pages are read in one turn of the event loop, in milliseconds. */
const TURN_TIME = 5

/** Functions that each read a page, the next one first. */
const waiting: (() => void)[] = []

/** When this turn has read for long enough; −1 before it has read a page. */
let end = -1

/**
 * Calls a function that reads a page of a list: at once, or in a later turn of the event loop if this one has read for
 * long enough. When hundreds of lists are read at once, each page waits for its turn, so that other requests wait for a
 * few of the pages and not for one of each list.
 */
export function readInTurn(read: () => void): void {
  if (end < 0) beginTurn()
  if (performance.now() < end) read()
  else waiting.push(read)
}

function beginTurn(): void {
  end = performance.now() + TURN_TIME
  setImmediate(readWaiting)
}

function readWaiting(): void {
  end = -1
  if (waiting.length === 0) return
  beginTurn()
  do waiting.shift()?.()
  while (waiting.length > 0 && performance.now() < end)
}
