import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { spawnService, temporaryDirectory } from '../support/service.ts'
import { straceMissing } from './strace.ts'

// Where every test has to run, one that cannot is a failure.
const skip = process.env.FAULTS !== 'required' && straceMissing

/** What network file systems answer that have no locks or no shared memory. */
const FAULTS = {
  'fcntl:error=EOPNOTSUPP': /probably has no locks or no shared memory, as NFS, SMB and FUSE/,
  'fcntl:error=ENOLCK': /another process keeps it locked, or its file system has no locks/,
  'mmap:error=ENODEV': /probably has no locks or no shared memory, as NFS, SMB and FUSE/,
}

describe('a file system that cannot hold the database', { skip }, () => {
  for (const [fault, expected] of Object.entries(FAULTS))
    it(`is named when the service does not start: ${fault}`, async (t) => {
      const directory = temporaryDirectory()
      t.after(directory.remove)
      const paths = ['', '-wal', '-shm'].flatMap((end) => ['-P', join(directory.path, `books.db${end}`)])
      const strace = ['strace', '-f', '-o', '/dev/null', '-e', `inject=${fault}`, ...paths]
      const settings = { PORT: '0', HOST: '127.0.0.1', DB_URL: 'sqlite:books.db', PASSWORD: 'p' }
      const { output, ended } = spawnService(directory.path, settings, [], strace)
      assert.deepEqual(await ended, { code: 1, signal: null }, output())
      assert.match(output(), /^Cannot start: DB_URL: the database file books\.db cannot be opened: [^\n]*\n$/)
      assert.match(output(), expected)
    })
})
