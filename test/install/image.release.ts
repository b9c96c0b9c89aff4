// The image of the Dockerfile, built and run. Not a part of `npm test`, because it takes a minute and needs root.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { nodePackage } from '../../bin/run-node.js'
import { logIn } from '../support/client.ts'
import { freePort } from '../support/free-port.ts'
import { ROOT, run } from '../support/npm.ts'
import { findProgram } from '../support/program.ts'
import { runSpec } from '../support/run-spec.ts'
import { memoryDirectory } from '../support/server-directory.ts'
import { ACCOUNT, SECRET, temporaryDirectory } from '../support/service.ts'
import { beginRequest } from '../support/slow-request.ts'

const BUILDAH = findProgram('buildah')
const MMDEBSTRAP = findProgram('mmdebstrap')
const RUNC = findProgram('runc')

const skip =
  BUILDAH.missing ||
  MMDEBSTRAP.missing ||
  RUNC.missing ||
  (process.getuid?.() !== 0 && 'building an image needs root')

/** In bytes: the Node.js alone, without its headers, has 150 MB. */
const MOST = 200_000_000

/** What the Dockerfile says of a container. */
interface ImageConfig {
  readonly Env: readonly string[]
  readonly Cmd: readonly string[]
  readonly WorkingDir: string
  /** `uid:gid`. */
  readonly User: string
  readonly Volumes: Readonly<Record<string, unknown>>
  readonly Healthcheck: { readonly Test: readonly string[] }
}

/**
 * Builds the image of the Dockerfile. No registry of images is asked: Debian comes from its packages, and the image with
 * npm is that Debian with what npm's registry has.
 * @param directory for all files of the builder. `unmount` has to be called before it is removed.
 */
function buildImage(directory: string) {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  const [installer = '', base = ''] = Array.from(dockerfile.matchAll(/^FROM (\S+)/gm), ([, name]) => name)
  const suite = /^debian:(\w+)-slim$/.exec(base)?.[1] ?? assert.fail(`${base} is no slim Debian`)
  const store = ['--root', join(directory, 'store'), '--runroot', join(directory, 'run')]
  const env = { ...process.env, BUILDAH_ISOLATION: 'chroot' }
  /** @returns what it wrote to standard output. */
  const buildah = (...args: string[]) =>
    execFileSync(BUILDAH.file, [...store, ...args], { encoding: 'utf8', env, stdio: 'pipe' }).trim()

  const debian = join(directory, 'debian.tar')
  run(MMDEBSTRAP.file, ['--variant=minbase', suite, debian])
  buildah('from', '--name', 'debian', 'scratch')
  buildah('add', '--quiet', 'debian', debian, '/')
  buildah('commit', '--quiet', 'debian', base)

  writeFileSync(join(directory, 'package.json'), '{}')
  const [major] = /\d+/.exec(installer) ?? []
  const packages = [`${nodePackage()}@${major}`, 'npm@11']
  run('npm', ['install', '--no-save', '--loglevel=error', ...packages], { cwd: directory })
  const modules = '/usr/local/lib/node_modules'
  buildah('from', '--name', 'npm', '--pull-never', base)
  buildah('add', '--quiet', 'npm', join(directory, 'node_modules'), modules)
  buildah('run', 'npm', '--', 'ln', '-s', `${modules}/${nodePackage()}/bin/node`, '/usr/local/bin/node')
  buildah('run', 'npm', '--', 'ln', '-s', `${modules}/npm/bin/npm-cli.js`, '/usr/local/bin/npm')
  // The authorities by which this machine reaches npm's registry.
  const { NODE_EXTRA_CA_CERTS: authorities } = process.env
  if (authorities !== undefined) {
    buildah('add', '--quiet', 'npm', authorities, '/etc/authorities.pem')
    buildah('config', '--env', 'NODE_EXTRA_CA_CERTS=/etc/authorities.pem', 'npm')
  }
  buildah('commit', '--quiet', 'npm', installer)

  buildah('build', '--quiet', '--pull-never', '--format', 'docker', '--tag', 'book-catalogue', ROOT)
  buildah('from', '--name', 'service', '--pull-never', 'book-catalogue')
  const { Docker } = JSON.parse(buildah('inspect', '--type', 'image', 'book-catalogue'))
  return {
    config: Docker.config as ImageConfig,
    /** The directories with the files of the image, and of the Debian that it is made of. */
    root: buildah('mount', 'service'),
    base: buildah('mount', 'debian'),
    unmount: () => buildah('umount', '--all'),
  }
}

describe('the image', { skip }, () => {
  const directory = temporaryDirectory(memoryDirectory())
  const volume = join(directory.path, 'volume')
  let image: ReturnType<typeof buildImage>
  let container: Awaited<ReturnType<typeof start>>

  /**
   * Starts the service in a new container, with the network of this machine and what its image says, and waits until it is
   * ready. It has no capability, and can write nowhere but to its volume.
   */
  async function start() {
    const { config, root } = image
    const port = await freePort()
    const name = `books-${port}`
    const bundle = join(directory.path, name)
    mkdirSync(bundle)
    execFileSync(RUNC.file, ['spec', '--bundle', bundle])
    const file = join(bundle, 'config.json')
    const spec = JSON.parse(readFileSync(file, 'utf8'))
    const [uid, gid] = config.User.split(':').map(Number)
    const settings = { PORT: port, PASSWORD: ACCOUNT.password, SECRET_TOKEN: SECRET }
    Object.assign(spec.process, {
      terminal: false,
      user: { uid, gid },
      args: config.Cmd,
      env: [...config.Env, ...Object.entries(settings).map(([name, value]) => `${name}=${value}`)],
      cwd: config.WorkingDir,
      capabilities: {},
    })
    spec.root = { path: root, readonly: true }
    const [destination] = Object.keys(config.Volumes)
    spec.mounts.push({ destination, type: 'bind', source: volume, options: ['bind', 'rw'] })
    spec.linux.namespaces = spec.linux.namespaces.filter(({ type }: { type: string }) => type !== 'network')
    writeFileSync(file, JSON.stringify(spec))
    const state = ['--root', join(directory.path, 'state')]
    const child = spawn(RUNC.file, [...state, 'run', '--bundle', bundle, name], { stdio: 'inherit' })
    const ended = once(child, 'exit')
    const url = `http://127.0.0.1:${port}`
    while (!(await fetch(`${url}/readyz`).catch(() => undefined))?.ok) {
      assert.equal(child.exitCode, null, 'the container has ended')
      await setTimeout(50)
    }
    return {
      url,
      /** Runs a command in it. @returns what it wrote to standard output. @throws Error if it fails. */
      exec: (command: readonly string[], input = '') =>
        execFileSync(RUNC.file, [...state, 'exec', name, ...command], {
          encoding: 'utf8',
          input,
          stdio: 'pipe',
        }),
      /** Sends a signal to the service. @returns its exit code. The runtime has removed the container then. */
      async end(signal: NodeJS.Signals): Promise<unknown> {
        if (child.exitCode === null) execFileSync(RUNC.file, [...state, 'kill', name, signal])
        return (await ended)[0]
      },
    }
  }

  before(async () => {
    image = buildImage(directory.path)
    // As a new volume is made of the image.
    const [path = ''] = Object.keys(image.config.Volumes)
    run('cp', ['--archive', join(image.root, path), volume])
    container = await start()
  })
  after(async () => {
    await container?.end('SIGKILL')
    image?.unmount()
    directory.remove()
  })

  it('takes at most 200 MB more than the Debian that it is made of', () => {
    const sizeOf = (path: string) => Number.parseInt(run('du', ['--summarize', '--block-size=1', path]), 10)
    const added = sizeOf(image.root) - sizeOf(image.base)
    assert.ok(added < MOST, `${added} bytes`)
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
    const request = await beginRequest(container.url, JSON.stringify(ACCOUNT))
    const ended = container.end('SIGTERM')
    request.finish()
    assert.match(await request.response(), /^HTTP\/1\.1 200 /)
    assert.equal(await ended, 0)
  })

  it('leaves its books to the next container', async () => {
    container = await start()
    const headers = { authorization: await logIn(container.url) }
    const response = await fetch(`${container.url}/books?count=true&limit=1`, { headers })
    assert.ok(Number(response.headers.get('x-total-count')) > 200_000, await response.text())
  })
})
