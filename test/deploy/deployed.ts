import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../support/npm.ts'

/**
 * @param places what stands in the file for a place on the machine of an operator, and what a test has instead.
 * @returns the text of a file in `deploy/`, with the places of the test.
 * @throws AssertionError if it does not have one of them.
 */
export function deployed(name: string, places: Readonly<Record<string, string>> = {}): string {
  return Object.entries(places).reduce(
    (text, [from, to]) => {
      assert.ok(text.includes(from), `deploy/${name} has no ${from}`)
      return text.replaceAll(from, () => to)
    },
    readFileSync(join(ROOT, 'deploy', name), 'utf8'),
  )
}
