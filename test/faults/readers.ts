import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { assertUnavailable, type Caller } from './caller.ts'

/**
 * Reads again and again until it is stopped.
 * @param check gets the data of each response.
 * @param pause between two reads, in milliseconds.
 */
export function readAgainAndAgain<Data>(
  caller: Caller,
  line: string,
  check: (data: Data) => void,
  pause: number,
) {
  const figures = { whole: 0, refused: 0, cut: 0 }
  let isStopping = false
  async function read(): Promise<keyof typeof figures> {
    const response = await caller.callUnlessCut(line)
    if (response === undefined) return 'cut'
    if (response.status === 503) {
      assertUnavailable(response)
      return 'refused'
    }
    assert.equal(response.status, 200, response.body)
    check((JSON.parse(response.body) as { data: Data }).data)
    return 'whole'
  }
  const ended = (async () => {
    while (!isStopping) {
      figures[await read()]++
      await setTimeout(pause)
    }
  })()
  const stop = () => {
    isStopping = true
    return ended
  }
  return { figures, stop, [Symbol.asyncDispose]: stop }
}
