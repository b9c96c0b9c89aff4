import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startOptions } from './support/started-as-npm.ts'

const read = (file: string) => readFileSync(join(import.meta.dirname, '..', file), 'utf8')

describe('Node.js', () => {
  const { variables, flags } = startOptions()
  const names = [...Object.keys(variables), ...flags.map((flag) => flag.split('=')[0] ?? flag)]

  for (const file of ['bin/book-catalogue.js', 'Dockerfile', 'docs/operations.md']) {
    it(`is started by ${file} with the variables and flags of npm start`, () => {
      assert.ok(flags.length > 0 && names.length > flags.length)
      for (const name of names) assert.ok(read(file).includes(name), name)
    })
  }
})
