import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startedAsNpm } from './support/started-as-npm.ts'

const read = (file: string) => readFileSync(join(import.meta.dirname, '..', file), 'utf8')

describe('Node.js', () => {
  const variables = Object.keys(startedAsNpm())

  for (const file of ['bin/book-catalogue.js', 'Dockerfile', 'docs/operations.md']) {
    it(`is started by ${file} with the variables of npm start`, () => {
      assert.ok(variables.length > 0)
      for (const variable of variables) assert.ok(read(file).includes(variable), variable)
    })
  }
})
