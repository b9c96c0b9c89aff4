import assert from 'node:assert/strict'
import { rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { logIn } from '../support/client.ts'
import { runCommand, withoutStores } from '../support/command.ts'
import { startService, temporaryDirectory } from '../support/service.ts'
import { diskMissing, LoopDisk } from './loop-disk.ts'

const ROWS = 60_000
const FILE = `title,author,year\n${Array.from({ length: ROWS }, (_, i) => `The title of the book ${i},"Author, ${i % 99}",${i}\n`).join('')}`

/** Room that is left, in bytes: the import runs into the end of the disk on its way. */
const ROOM = 1024 * 1024

// Where every test has to run, one that cannot is a failure.
const skip = process.env.FAULTS !== 'required' && diskMissing

describe('an import onto a full disk', { skip }, () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  const csv = join(directory.path, 'file.csv')
  writeFileSync(csv, FILE)

  for (const [what, settingsOn, message] of [
    [
      'of the catalogue',
      (path: string) => ({ DB_URL: `sqlite:${path}/books.db` }),
      'DB_URL: database or disk is full',
    ],
    [
      'of the temporary files',
      (path: string) => ({ DB_URL: `sqlite:${path.replaceAll('/', '_')}.db`, SQLITE_TMPDIR: path }),
      'there is no room for temporary files; free some, or name another directory in SQLITE_TMPDIR',
    ],
  ] as const) {
    it(`${what} stores nothing and says so, and works when there is room again`, async (t) => {
      assert.equal(diskMissing, false)
      const disk = new LoopDisk(64)
      t.after(() => disk[Symbol.dispose]())
      const settings = settingsOn(disk.path)
      const service = await startService(directory.path, settings)
      t.after(() => service.stop('SIGKILL'))
      const authorization = await logIn(service.url)
      const call = async (path: string, init: RequestInit = {}) => {
        const headers = { authorization, 'content-type': 'text/csv' }
        const response = await fetch(service.url + path, { headers, ...init })
        return { status: response.status, body: await response.text(), headers: response.headers }
      }
      const send = () => call('/books/import?skip_existing=false', { method: 'POST', body: FILE })
      const runImport = () => runCommand(directory.path, settings, 'import', csv, '--no-skip-existing')
      const stored = async () => (await call('/books?limit=1&count=true')).headers.get('x-total-count')
      const created = await call('/book', { method: 'POST', body: '{"title":"T","author":"A","year":1}' })
      assert.equal(created.status, 201)

      const filler = disk.fillUp()
      truncateSync(filler, statSync(filler).size - ROOM)
      const refused = await send()
      assert.equal(refused.status, 503, refused.body)
      assert.deepEqual(JSON.parse(refused.body), {
        status: 503,
        message: 'Service unavailable',
        data: null,
      })
      const { code, stdout, stderr } = await runImport()
      assert.deepEqual([code, stdout], [1, ''])
      assert.equal(withoutStores(stderr), `Cannot import: ${message}\n`)
      assert.equal(await stored(), '1')
      assert.equal((await call('/book/1')).status, 200)

      rmSync(filler)
      assert.equal((await send()).status, 200)
      assert.equal((await runImport()).stdout, `added ${ROWS} books, skipped 0\n`)
      assert.equal(await stored(), String(1 + 2 * ROWS))
    })
  }
})
