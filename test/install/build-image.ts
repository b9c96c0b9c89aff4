import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { nodePackage } from '../../bin/run-node.js'
import { ROOT, run } from '../support/npm.ts'
import { findProgram } from '../support/program.ts'

const BUILDAH = findProgram('buildah')
const MMDEBSTRAP = findProgram('mmdebstrap')

/** Why no image can be built here, or false. */
export const buildMissing =
  BUILDAH.missing || MMDEBSTRAP.missing || (process.getuid?.() !== 0 && 'building an image needs root')

/** What the Dockerfile says of a container. */
export interface ImageConfig {
  readonly Env: readonly string[]
  readonly Cmd: readonly string[]
  readonly WorkingDir: string
  /** `uid:gid`. */
  readonly User: string
  readonly Volumes: Readonly<Record<string, unknown>>
  readonly Healthcheck: { readonly Test: readonly string[] }
}

export interface Image {
  /** The directory with its files. */
  readonly root: string
  readonly config: ImageConfig
  /** In bytes. */
  readonly size: number
  /** Of the Debian that it is made of, in bytes. */
  readonly baseSize: number
}

/**
 * Builds the image of the Dockerfile. No registry of images is asked: Debian comes from its packages, and the image with
 * npm is that Debian with what npm's registry has.
 * @param directory for all files of the builder. `unmount` has to be called before it is removed.
 */
export function buildImage(directory: string) {
  const dockerfile = readFileSync(join(ROOT, 'Dockerfile'), 'utf8')
  const [installer = '', base = ''] = Array.from(dockerfile.matchAll(/^FROM (\S+)/gm), ([, name]) => name)
  const suite = /^debian:(\w+)-slim$/.exec(base)?.[1]
  if (suite === undefined) throw new Error(`the last image of the Dockerfile is no slim Debian: ${base}`)

  const store = ['--root', join(directory, 'store'), '--runroot', join(directory, 'run')]
  /** @returns what it wrote to standard output. */
  const buildah = (...args: string[]) =>
    execFileSync(BUILDAH.file, [...store, ...args], {
      encoding: 'utf8',
      env: { ...process.env, BUILDAH_ISOLATION: 'chroot' },
      stdio: 'pipe',
    }).trim()

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
  const { Docker } = JSON.parse(buildah('inspect', '--type', 'image', 'book-catalogue')) as {
    Docker: { config: ImageConfig }
  }
  const root = buildah('mount', 'service')
  const image: Image = {
    root,
    config: Docker.config,
    size: sizeOf(root),
    baseSize: sizeOf(buildah('mount', 'debian')),
  }
  return { image, unmount: () => buildah('umount', '--all') }
}

/** In bytes, as the disk has it. */
function sizeOf(directory: string): number {
  return Number.parseInt(run('du', ['--summarize', '--block-size=1', directory]), 10)
}
