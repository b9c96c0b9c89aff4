import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { it } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { ownNpm, ROOT } from '../support/npm.ts'
import { findCommand } from '../support/program.ts'
import { ACCOUNT, SETTINGS, temporaryDirectory } from '../support/service.ts'
import { beginRequest, connectUntilRefused } from '../support/slow-request.ts'
import { until } from '../support/until.ts'

// How it ends on SIGTERM: test/install/installations.release.ts.
it('npm start ends on Ctrl-C, which all processes get, when what is in flight is answered', {
  skip: findCommand(['script']) ? false : 'needs script of util-linux',
}, async (t) => {
  const directory = temporaryDirectory()
  t.after(directory.remove)
  const { node, cli } = ownNpm()
  const typescript = join(directory.path, 'terminal.txt')
  // With another command after it, as in the shell of a user, which stays.
  const terminal = spawn('script', ['-qec', `"${node}" "${cli}" start; exit`, '-f', typescript], {
    cwd: ROOT,
    env: {
      ...process.env,
      SHELL: '/bin/sh',
      ...SETTINGS,
      DB_URL: `sqlite:${directory.path}/terminal.db`,
    },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  t.after(() => terminal.kill())
  const ended = once(terminal, 'close')
  const text = () =>
    existsSync(typescript) ? stripVTControlCharacters(readFileSync(typescript, 'utf8')) : ''
  const url = () => /url: "(http:[^"]*)"/.exec(text())?.[1]
  const listening = await until(text, url)
  const request = await beginRequest(listening, JSON.stringify(ACCOUNT))
  terminal.stdin.write('\x03')
  await assert.rejects(connectUntilRefused(listening))
  request.finish()
  assert.match(await request.response(), /^HTTP\/1\.1 200 .*"Token generated successfully"/s)
  await ended
  assert.match(text(), /INFO: stopped/)
})
