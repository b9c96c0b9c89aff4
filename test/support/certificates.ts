import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import type { ServerDirectory } from './server-directory.ts'

export type Certificates = ReturnType<typeof makeCertificates>

/**
 * Makes an authority, and a certificate of it for `localhost` and 127.0.0.1, in the directory.
 * @returns the paths of the files, and the text of `caFile`.
 * @throws Error if the command `openssl` is missing or fails.
 */
export function makeCertificates(directory: ServerDirectory) {
  const key = (file: string, subject: string) => [
    ...['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-keyout', file, '-subj', subject],
  ]
  const authority = { caFile: directory.join('ca.crt'), caKey: directory.join('ca.key') }
  const server = { certFile: directory.join('server.crt'), keyFile: directory.join('server.key') }
  const request = directory.join('server.csr')
  const extensions = directory.join('server.ext')
  writeFileSync(extensions, 'subjectAltName=DNS:localhost,IP:127.0.0.1\n')
  openssl('req', '-x509', '-days', '2', '-out', authority.caFile, ...key(authority.caKey, '/CN=Tests'))
  openssl('req', '-new', '-out', request, ...key(server.keyFile, '/CN=localhost'))
  openssl(
    ...['x509', '-req', '-days', '2', '-in', request, '-out', server.certFile, '-extfile', extensions],
    ...['-CA', authority.caFile, '-CAkey', authority.caKey, '-CAcreateserial'],
  )
  directory.give('server.crt', 'server.key')
  return { caFile: authority.caFile, ca: readFileSync(authority.caFile, 'utf8'), ...server }
}

function openssl(...args: string[]): void {
  const { error, status, stderr } = spawnSync('openssl', args, { encoding: 'utf8', timeout: 20_000 })
  if (error) throw new Error(`TLS needs the command openssl: ${error.message}`)
  if (status !== 0) throw new Error(`openssl ${args[0]} failed:\n${stderr}`)
}
