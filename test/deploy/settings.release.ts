import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { parseEnv } from 'node:util'
import { nodeFlags, VARIABLES } from '../../bin/start-options.js'
import { readConfig } from '../../src/config.ts'
import { runCommand } from '../support/command.ts'
import { knownSettings } from '../support/known-settings.ts'
import { ROOT } from '../support/npm.ts'
import { temporaryDirectory } from '../support/service.ts'
import { deployed } from './deployed.ts'

const EXAMPLE = deployed('.env.example')
/** Nothing is commented out. */
const WHOLE = EXAMPLE.replaceAll(/^#(?=[A-Z_]+=)/gm, '')
/** A setting and its file exclude each other. */
const WITHOUT_FILES = WHOLE.replaceAll(/^[A-Z_]+_FILE=.*\n/gm, '')

it('.env.example has every setting, and no other', () =>
  assert.deepEqual(Object.keys(parseEnv(WHOLE)).sort(), knownSettings()))

it('.env.example sets nothing as it is, and shows the defaults', () => {
  assert.deepEqual(Object.keys(parseEnv(EXAMPLE)), [])
  const defaults = readConfig({})
  const { host, metricsPort, trustProxy, corsOrigins, secretToken, password, generated, warnings, ...shown } =
    readConfig(parseEnv(WITHOUT_FILES))
  assert.deepEqual({ ...defaults, ...shown }, defaults)
})

it('a command takes what .env.example shows', async (t) => {
  const directory = temporaryDirectory()
  t.after(directory.remove)
  writeFileSync(join(directory.path, '.env'), WITHOUT_FILES)
  const { stdout } = await runCommand(directory.path, {}, 'check')
  assert.match(stdout, /^The settings are good\. .*\/data\/books\.db is made at the first start\.\n$/)
})

for (const path of ['deploy/book-catalogue.service', 'Dockerfile'])
  it(`${path} starts Node.js as npm start does`, () => {
    const text = readFileSync(join(ROOT, path), 'utf8')
    const { NODE_COMPILE_CACHE: _elsewhere, ...variables } = VARIABLES
    const expected = [...nodeFlags(), ...Object.entries(variables).map((variable) => variable.join('='))]
    assert.deepEqual(
      ['NODE_COMPILE_CACHE=', ...expected].filter((words) => !text.includes(words)),
      [],
    )
  })
