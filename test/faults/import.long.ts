import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { openPatiently } from '../store/new-database.ts'
import { logIn } from '../support/client.ts'
import { MAIN, runCommand } from '../support/command.ts'
import { ENGINES, engineMissing, useDatabases } from '../support/engines.ts'
import { INHERITED, startService, temporaryDirectory } from '../support/service.ts'

/** Rounds of each test; more of them by hand. */
const ROUNDS = Number(process.env.IMPORT_ROUNDS ?? 3)

const ROWS = 20_000
const FILE = `title,author,year\n${Array.from({ length: ROWS }, (_, i) => `Title ${i},"Author, ${i % 99}",${i}\n`).join('')}`

/** The longest time that such an import takes, about; milliseconds. */
const DURATION = 700

const atRandom = () => setTimeout(Math.random() * DURATION)

async function count(url: string): Promise<number> {
  const store = await openPatiently(url)
  return store.count({}).finally(() => store.close())
}

for (const engine of ENGINES)
  describe(`what is cut short at random moments (${engine})`, { skip: engineMissing(engine) }, () => {
    const directory = temporaryDirectory()
    after(directory.remove)
    const file = join(directory.path, 'file.csv')
    const source = `sqlite:${directory.path}/source.db`
    before(async () => {
      writeFileSync(file, FILE)
      await runCommand(directory.path, { DB_URL: source }, 'import', file, '--no-skip-existing')
    })
    const databases = engine === 'sqlite' ? undefined : useDatabases(engine)
    const newUrl = async () =>
      databases
        ? await (await databases()).createDatabase()
        : `sqlite:${directory.path}/${crypto.randomUUID()}.db`

    /** @returns whether the client was told that the file is stored. */
    async function cutService(DB_URL: string, signal: NodeJS.Signals): Promise<boolean> {
      const service = await startService(directory.path, { DB_URL })
      const headers = { authorization: await logIn(service.url), 'content-type': 'text/csv' }
      const path = '/books/import?skip_existing=false'
      const status = fetch(service.url + path, { method: 'POST', headers, body: FILE })
        .then((response) => response.text().then(() => response.status))
        .catch(() => 0)
      await atRandom()
      const end = await service.stop(signal)
      if (signal === 'SIGTERM') assert.deepEqual(end, { code: 0, signal: null })
      return (await status) === 200
    }

    /** @returns whether the command has said that all is stored. */
    async function cutCommand(DB_URL: string, signal: NodeJS.Signals, ...args: string[]): Promise<boolean> {
      const env = { ...INHERITED, DB_URL }
      const child = spawn(process.execPath, [MAIN, ...args], { env, cwd: directory.path })
      const said = text(child.stdout)
      await atRandom()
      child.kill(signal)
      return (await said) !== ''
    }

    for (const [what, cut] of [
      ['an import when the service is killed', (url: string) => cutService(url, 'SIGKILL')],
      ['an import when the service is stopped', (url: string) => cutService(url, 'SIGTERM')],
      [
        'an import of the command that gets SIGINT',
        (url: string) => cutCommand(url, 'SIGINT', 'import', file),
      ],
      [
        'a copy that is killed',
        (url: string) => cutCommand(url, 'SIGKILL', 'copy', '--from', source, '--to', url),
      ],
    ] as const)
      it(`${what} stores all or nothing, ${ROUNDS} times`, async () => {
        for (let round = 0; round < ROUNDS; round++) {
          const url = await newUrl()
          const isStored = await cut(url)
          const stored = await count(url)
          assert.ok(stored === 0 || stored === ROWS, `${stored} of ${ROWS} rows`)
          // A process that is killed does not say what it has done.
          if (isStored || what.includes('SIGINT')) assert.equal(stored > 0, isStored)
        }
      })
  })
