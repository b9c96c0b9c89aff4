import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { it } from 'node:test'
import { runCommand } from '../support/command.ts'
import { freePort } from '../support/free-port.ts'

it('a command that has waited for a server in vain says why, and says it once', async () => {
  const port = await freePort()
  const urls = ['postgres', 'mysql'].map((engine) => `${engine}://u:p@127.0.0.1:${port}/d`)
  const all = urls.map((DB_URL) => runCommand(tmpdir(), { DB_URL }, 'check', '--settings', '/dev/null'))
  for (const { code, stderr } of await Promise.all(all)) {
    const refusal = `connect ECONNREFUSED 127\\.0\\.0\\.1:${port}`
    assert.equal(code, 1)
    assert.match(
      stderr,
      new RegExp(`^Cannot start .*: the \\w+ server at .* was not ready within 30 seconds: ${refusal}$`, 'm'),
    )
  }
})
