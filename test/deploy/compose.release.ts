import assert from 'node:assert/strict'
import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { readConfig } from '../../src/config.ts'
import { SETTING_NAMES } from '../../src/settings.ts'
import { ROOT, run } from '../support/npm.ts'
import { findProgram } from '../support/program.ts'
import { temporaryDirectory } from '../support/service.ts'

const COMPOSE = findProgram('docker-compose')

const SETTINGS = 'PASSWORD=p\nSECRET_TOKEN=s\nHOST=127.0.0.1\nPORT=1\n'
const OF_OTHERS = 'POSTGRES_PASSWORD=p\nSITE=books.example.org\n'

describe('the files for Docker Compose', { skip: COMPOSE.missing }, () => {
  const directory = temporaryDirectory()
  after(directory.remove)
  cpSync(join(ROOT, 'deploy'), directory.path, { recursive: true })

  /** @returns what Compose makes of the files. @throws Error with what it says, if it refuses them. */
  function merged(files: readonly string[], settings = SETTINGS + OF_OTHERS): string {
    writeFileSync(join(directory.path, '.env'), settings)
    return run(COMPOSE.file, [...files.flatMap((file) => ['-f', file]), 'config'], { cwd: directory.path })
  }

  /** What the container of the service has in its environment. */
  function environmentIn(text: string): Record<string, string> {
    const [, lines = ''] =
      /^ {2}book-catalogue:\n(?: {4}.*\n)*? {4}environment:\n((?: {6}.*\n)+)/m.exec(text) ?? []
    return Object.fromEntries(
      Array.from(lines.matchAll(/^ {6}(\w+): "?(.*?)"?$/gm), ([, name, value]) => [name, value]),
    )
  }

  for (const [files, expected] of [
    [['compose.yaml'], { dbUrl: { engine: 'sqlite', path: '/data/books.db' }, trustProxy: false }],
    [
      ['compose.yaml', 'compose.postgres.yaml', 'compose.caddy.yaml'],
      { dbUrl: { engine: 'postgres' }, trustProxy: ['uniquelocal'] },
    ],
  ] as const) {
    it(`${files.join(', ')}: starts the service with settings that it knows, where other containers reach it`, () => {
      const environment = environmentIn(merged(files))
      assert.partialDeepStrictEqual(readConfig(environment), { ...expected, host: '0.0.0.0', port: 8080 })
      const known: string[] = [...SETTING_NAMES, 'PGPASSWORD', 'POSTGRES_PASSWORD', 'SITE']
      const unknown = Object.keys(environment).filter((name) => !known.includes(name))
      assert.deepEqual(unknown, [])
    })
  }

  it('ask for what their own services need', () => {
    for (const file of ['compose.postgres.yaml', 'compose.caddy.yaml'])
      assert.throws(() => merged(['compose.yaml', file], SETTINGS), /set it in \.env/)
  })
})
