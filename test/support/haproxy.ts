import { once } from 'node:events'
import { connect } from 'node:net'
import { freePort } from './free-port.ts'
import { findProgram } from './program.ts'
import { ServerDirectory } from './server-directory.ts'
import { ServerProcess } from './server-process.ts'
import { until } from './until.ts'

const { file, missing } = findProgram('haproxy', 'CLUSTERS')
export const haproxyMissing = missing

/** A database server behind HAProxy. */
interface Upstream {
  /** `host:port`. */
  readonly address: string
  /** The port on that host that tells by HTTP whether clients may use the server. */
  readonly checkPort: number
}

/**
 * Starts an HAProxy on 127.0.0.1 that leads every connection to the first server that may be used.
 * @param check the request that a server answers with 200 if it may be used, such as `GET /primary`.
 * @throws Error if there is none, or with what it said if it does not start.
 */
export async function startHaproxy(check: string, servers: readonly Upstream[]) {
  const port = await freePort()
  const lines = servers.map(
    ({ address, checkPort }, i) => `server s${i} ${address} check port ${checkPort}${i > 0 ? ' backup' : ''}`,
  )
  const proxy = await runHaproxy(
    file,
    new ServerDirectory(),
    port,
    `
defaults
  mode tcp
  retries 1
  option redispatch
  timeout connect 2s
  timeout check 1s
  timeout client 1h
  timeout server 1h
listen database
  bind 127.0.0.1:${port}
  option httpchk ${check}
  http-check expect status 200
  default-server inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
  ${lines.join('\n  ')}
`,
  )
  return { port, remove: () => proxy.remove() }
}

/** Starts an HAProxy. @param config binds this port of 127.0.0.1. */
export async function runHaproxy(
  file: string,
  directory: ServerDirectory,
  port: number,
  config: string,
): Promise<ServerProcess> {
  const proxy = await ServerProcess.started({
    file,
    args: ['-db', '-V', '-f', directory.write('haproxy.cfg', config)],
    ready: /as the polling mechanism/,
    directory,
  })
  // It says nothing once it listens, which is a moment later.
  await until('HAProxy takes connections', async () => {
    const socket = connect(port, '127.0.0.1')
    return once(socket, 'connect')
      .then(
        () => true,
        () => false,
      )
      .finally(() => socket.destroy())
  })
  return proxy
}
