import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { startedAsNpm } from './support/started-as-npm.ts'

const read = (file: string) => readFileSync(join(import.meta.dirname, '..', file), 'utf8')

describe('Node.js', () => {
  const { options, variables } = startedAsNpm()

  for (const file of ['bin/book-catalogue.js', 'Dockerfile', 'docs/operations.md']) {
    it(`is started by ${file} with the options and variables of npm start`, () => {
      assert.ok(options.length > 0 && Object.keys(variables).length > 0)
      for (const part of [...options, ...Object.keys(variables)]) assert.ok(read(file).includes(part), part)
    })
  }
})
