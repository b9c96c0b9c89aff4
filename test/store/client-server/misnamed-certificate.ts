import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { after, before } from 'node:test'
import { makeCertificates } from '../../support/certificates.ts'
import type { DatabaseServer } from '../../support/database-server.ts'
import { ServerDirectory } from '../../support/server-directory.ts'

/** Files of a certificate that is not for localhost, and of the authority that signed it. */
interface Misnamed {
  readonly caFile: string
  readonly certFile: string
  readonly keyFile: string
}

/** To be called in a `describe`: makes the certificate before its tests. */
export function useMisnamedCertificate(): () => Misnamed {
  const directory = new ServerDirectory()
  after(() => directory.remove())
  let made: Misnamed | undefined
  return () => {
    made ??= makeMisnamed(directory)
    return made
  }
}

function makeMisnamed(directory: ServerDirectory): Misnamed {
  const { caFile } = makeCertificates(directory)
  const file = (name: string) => directory.join(`other.${name}`)
  writeFileSync(file('ext'), 'subjectAltName=DNS:db.example\n')
  for (const command of [
    `req -new -newkey rsa:2048 -nodes -keyout ${file('key')} -subj /CN=db.example -out ${file('csr')}`,
    `x509 -req -days 2 -in ${file('csr')} -out ${file('crt')} -extfile ${file('ext')} ` +
      `-CA ${caFile} -CAkey ${directory.join('ca.key')} -CAcreateserial`,
  ]) {
    const { status, stderr } = spawnSync('openssl', command.split(' '), { encoding: 'utf8', timeout: 60_000 })
    assert.equal(status, 0, stderr)
  }
  directory.give('other.crt', 'other.key')
  return { caFile, certFile: file('crt'), keyFile: file('key') }
}

/** To be called in a `describe`: starts the servers before its tests, and removes them afterwards. */
export function useServers<Name extends string>(
  start: () => Record<Name, Promise<DatabaseServer>>,
): (name: Name) => DatabaseServer {
  const servers = new Map<string, DatabaseServer>()
  before(async () => {
    const starting = Object.entries<Promise<DatabaseServer>>(start())
    await Promise.all(starting.map(async ([name, server]) => servers.set(name, await server)))
  })
  after(async () => {
    await Promise.all(Array.from(servers.values(), (server) => server.remove()))
  })
  return (name) => servers.get(name) as DatabaseServer
}
