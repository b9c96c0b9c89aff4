// The image of the Dockerfile, built and run. Not a part of `npm test`, because it takes a minute and needs root.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { logIn } from '../support/client.ts'
import { freePort } from '../support/free-port.ts'
import { run } from '../support/npm.ts'
import { runSpec } from '../support/run-spec.ts'
import { memoryDirectory } from '../support/server-directory.ts'
import { ACCOUNT, temporaryDirectory } from '../support/service.ts'
import { beginRequest } from '../support/slow-request.ts'
import { buildImage, buildMissing, type Image } from './build-image.ts'
import { Container, containersMissing } from './container.ts'

/** In bytes: the Node.js alone has 150 MB. */
const MOST = 200_000_000
/** How long a container may take to stop before it is killed, in milliseconds. */
const STOP_TIME = 10_000

describe('the image', { skip: buildMissing || containersMissing }, () => {
  const directory = temporaryDirectory(memoryDirectory())
  const volume = join(directory.path, 'volume')
  let image: Image
  let unmount = () => ''
  let container: Container
  const start = async () => Container.start(image, directory.path, volume, await freePort())

  before(async () => {
    const built = buildImage(directory.path)
    image = built.image
    unmount = built.unmount
    // As a new volume is made of the image.
    const [path = ''] = Object.keys(image.config.Volumes)
    run('cp', ['--archive', join(image.root, path), volume])
    container = await start()
  })
  after(async () => {
    await container?.kill()
    unmount()
    directory.remove()
  })

  it('takes at most 200 MB more than the Debian that it is made of', (t) => {
    const added = image.size - image.baseSize
    t.diagnostic(`Debian ${image.baseSize / 1e6} MB, the image ${added / 1e6} MB more`)
    assert.ok(added < MOST, `${added} bytes`)
  })

  it('has one Node.js, without its headers', () => {
    const find = (...args: string[]) =>
      run('find', [image.root, ...args])
        .trim()
        .split('\n')
    assert.equal(find('-type', 'f', '-name', 'node', '-executable').length, 1)
    assert.deepEqual(find('-path', '*/include/node'), [''])
  })

  it('keeps the contract', () => runSpec(container.url))

  it('runs as a user who can change nothing of it', () => {
    assert.notEqual(container.exec(['id', '--user']).trim(), '0')
    assert.throws(() => container.exec(['touch', '/app/src/main.ts']), /Permission denied/)
  })

  it('has the commands on its path, which use the database of the service', () => {
    const added = container.exec(['book-catalogue', 'import', '-'], 'title,author,year\nT,A,1\n')
    assert.match(container.exec(['book-catalogue', 'check']), /the store \(sqlite\) answers: [1-9]/, added)
  })

  it('takes an import, whose temporary file is in its volume', async () => {
    const headers = { authorization: await logIn(container.url), 'content-type': 'text/csv' }
    const body = `title,author,year\n${'A title,An author,1999\n'.repeat(200_000)}`
    const response = await fetch(`${container.url}/books/import`, { method: 'POST', headers, body })
    assert.equal(response.status, 200)
  })

  it('tells whether it is alive', () => {
    const [, ...command] = image.config.Healthcheck.Test
    container.exec(command)
  })

  it('stops on SIGTERM when what is in flight is answered', async () => {
    const request = beginRequest(container.url, JSON.stringify(ACCOUNT))
    await request.begun
    const signalled = Date.now()
    container.signal('SIGTERM')
    request.finish()
    assert.match(await request.response, /^HTTP\/1\.1 200 /)
    assert.equal(await container.ended(), 0)
    assert.ok(Date.now() - signalled < STOP_TIME)
  })

  it('leaves its books to the next container', async () => {
    container = await start()
    const headers = { authorization: await logIn(container.url) }
    const response = await fetch(`${container.url}/books?count=true&limit=1`, { headers })
    assert.ok(Number(response.headers.get('x-total-count')) > 200_000, await response.text())
  })
})
