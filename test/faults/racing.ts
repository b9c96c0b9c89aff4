import assert from 'node:assert/strict'
import type { Book } from '../../src/catalogue/book.ts'
import type { RawResponse } from '../support/raw-socket.ts'
import { assertUnavailable, type Caller } from './caller.ts'

/**
 * Lets editors race: each reads one of the books, raises its year by one with If-Match, and repeats that until so many
 * of its edits were acknowledged.
 * @returns the books as these edits left them; how many edits met a newer version; and how many were refused, which may
 *   be stored all the same.
 */
export async function raiseYears(editors: readonly Caller[], ids: readonly number[], times: number) {
  const race = { edited: [] as Book[], conflicts: 0, refused: 0 }
  const edit = async (editor: Caller, number: number) => {
    for (let done = 0; done < times; ) {
      const path = `/book/${ids[(number + done) % ids.length]}`
      const read = await editor.call(`GET ${path}`)
      const year = read.status === 503 ? 0 : bookIn(read).year + 1
      const condition = { 'if-match': read.headers.get('etag') ?? '' }
      const written = read.status === 503 ? read : await editor.call(`PUT ${path}`, { year }, condition)
      if (written.status === 412) race.conflicts++
      else if (written.status === 503) {
        assertUnavailable(written)
        if (written.headers.get('x-stored') === 'unknown') race.refused++
      } else {
        assert.equal(bookIn(written).year, year)
        race.edited.push(bookIn(written))
        done++
      }
    }
  }
  await Promise.all(editors.map(edit))
  assert.ok(race.conflicts > 0, 'nobody came between reading and writing: nothing is shown')
  return race
}

/** The book in a response that has to be one. */
function bookIn({ status, body }: RawResponse): Book {
  assert.equal(status, 200, body)
  return (JSON.parse(body) as { data: Book }).data
}
