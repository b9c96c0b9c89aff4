import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { spawnService, startService, temporaryDirectory } from '../support/service.ts'
import { Journal } from './journal.ts'
import { surviveFault } from './load.ts'
import { readStored } from './stored.ts'
import { makeFail, straceMissing } from './strace.ts'

/** The calls that SQLite makes to write to the disk and to wait for it; and whether some writes succeed in spite of it. */
const FAULTS = [
  ['no fsync works', 'fsync,fdatasync:error=EIO', false],
  ['every third fsync fails', 'fsync,fdatasync:error=EIO:when=2+3', true],
  ['nothing can be written', 'pwrite64:error=EIO', false],
  ['every 50th write to the file fails', 'pwrite64:error=EIO:when=7+50', true],
] as const

/** What network file systems answer that have no locks or no shared memory, and what the service says of it. */
const WITHOUT_LOCKS = [
  ['fcntl:error=EOPNOTSUPP', /probably has no locks or no shared memory, as NFS, SMB and FUSE/],
  ['fcntl:error=ENOLCK', /another process keeps it locked, or its file system has no locks/],
  ['mmap:error=ENODEV', /probably has no locks or no shared memory, as NFS, SMB and FUSE/],
] as const

describe('a disk that fails for a while', { skip: straceMissing }, () => {
  for (const [name, fault, sometimes] of FAULTS) {
    it(`${name}: writes are refused, none is lost, and all works again afterwards`, async (t) => {
      const directory = temporaryDirectory()
      t.after(directory.remove)
      const path = join(directory.path, 'books.db')
      const service = await startService(directory.path)
      t.after(() => service.stop('SIGKILL'))
      const journal = new Journal()
      let failed = 0
      const begin = async () => {
        const failing = await makeFail(service.process.pid ?? 0, fault, directory.path)
        t.after(() => failing[Symbol.asyncDispose]())
        return async () => {
          failed = await failing.end()
        }
      }
      const { acknowledged } = await surviveFault(
        service.url,
        journal,
        begin,
        ({ acknowledged }) => journal.figures.refused > 500 && (!sometimes || acknowledged > 100),
      )
      assert.ok(failed > 3, 'nothing was made to fail')
      if (!sometimes) assert.equal(acknowledged, 0, 'false success')
      // Once as it was left in the log, and once after the next service has brought that into the file.
      await service.stop('SIGKILL')
      journal.compare(readStored(path))
      await (await startService(directory.path)).stop()
      journal.compare(readStored(path))
      assert.deepEqual(journal.faults, [])
      assert.equal(journal.figures.unknown, 0)
    })
  }
})

describe('a file system that cannot hold the database', { skip: straceMissing }, () => {
  for (const [fault, expected] of WITHOUT_LOCKS)
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
