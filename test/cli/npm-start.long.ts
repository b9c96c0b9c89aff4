import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { ownNpm, ROOT } from '../support/npm.ts'
import { processTree } from '../support/process-tree.ts'
import { ACCOUNT, SECRET, START_TIME, temporaryDirectory } from '../support/service.ts'
import { beginRequest, connectUntilRefused } from '../support/slow-request.ts'

const hasScript = spawnSync('script', ['--version']).status === 0 && existsSync('/bin/sh')
const LOGGED_IN = /^HTTP\/1\.1 200 .*"Token generated successfully"/s

describe('npm start', () => {
  const directory = temporaryDirectory()
  after(directory.remove)

  it('ends on SIGTERM when what is in flight is answered', async () => {
    await using service = await ownNpm().start({ DB_URL: `sqlite:${directory.path}/npm.db` })
    const request = beginRequest(service.url, JSON.stringify(ACCOUNT))
    await request.begun
    // What npm has started, a shell or what has replaced it: npm itself does not pass signals on in every version.
    const [, started = assert.fail()] = processTree(service.process.pid ?? assert.fail())
    process.kill(started, 'SIGTERM')
    await assert.rejects(connectUntilRefused(service.url))
    request.finish()
    assert.match(await request.response, LOGGED_IN)
    await service.ended
    assert.match(service.output(), /"msg":"stopped"/)
    assert.deepEqual(readdirSync(directory.path), ['npm.db'], 'a closed database has no WAL beside it')
  })

  const skip = hasScript ? false : 'needs script of util-linux'
  it('ends on Ctrl-C, which all processes get, when what is in flight is answered', { skip }, async () => {
    const { node, cli } = ownNpm()
    const typescript = join(directory.path, 'terminal.txt')
    // With another command after it, as in the shell of a user, which stays.
    const terminal = spawn('script', ['-qec', `"${node}" "${cli}" start; exit`, '-f', typescript], {
      cwd: ROOT,
      env: {
        ...process.env,
        SHELL: '/bin/sh',
        PORT: '0',
        HOST: '127.0.0.1',
        DB_URL: `sqlite:${directory.path}/terminal.db`,
        USERNAME: ACCOUNT.username,
        PASSWORD: ACCOUNT.password,
        SECRET_TOKEN: SECRET,
      },
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    const ended = once(terminal, 'close')
    const text = () =>
      existsSync(typescript) ? stripVTControlCharacters(readFileSync(typescript, 'utf8')) : ''
    const url = () => /url: "(http:[^"]*)"/.exec(text())?.[1]
    try {
      const deadline = Date.now() + START_TIME
      while (url() === undefined && Date.now() < deadline) await setTimeout(20)
      const listening = url() ?? assert.fail(text())
      const request = beginRequest(listening, JSON.stringify(ACCOUNT))
      await request.begun
      terminal.stdin.write('\x03')
      await assert.rejects(connectUntilRefused(listening))
      request.finish()
      assert.match(await request.response, LOGGED_IN)
      await ended
      assert.match(text(), /INFO: stopped/)
    } finally {
      terminal.kill()
    }
  })
})
