import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'

/** The maximum number of connections, if the system allows as many open files. */
const MAX_CONNECTIONS = 8000

/** The share of the open files for connections. The store and files that are sent need the rest. */
const SHARE = 3 / 4

/** The minimum time between two log lines about too many connections, in milliseconds. */
const REPORT_INTERVAL = 60_000

/**
 * Keeps the number of connections below the limit of open files. At that limit, Node would close new connections
 * silently, and the store could not open files. A new connection over the limit replaces the one that has been idle
 * longest, or is closed if all are busy. With Node's own `maxConnections`, idle connections would lock everybody out.
 * @param idle the connections without a request, the one that has been idle longest first. New ones are added here.
 */
export function limitConnections(
  server: Server,
  limit: number,
  idle: Set<Socket>,
  log: Pick<FastifyBaseLogger, 'warn'>,
): void {
  let open = 0
  let lastReport = Number.NEGATIVE_INFINITY

  server.on('connection', (socket: Socket) => {
    open++
    idle.add(socket)
    socket.once('close', () => {
      open--
      idle.delete(socket)
    })
    if (open <= limit) return
    const [longest = socket] = idle
    idle.delete(longest)
    longest.destroy()
    const now = performance.now()
    if (now - lastReport < REPORT_INTERVAL) return
    lastReport = now
    log.warn({ limit }, 'too many connections: idle ones are closed, or new ones if none is idle')
  })
}

/** @returns the maximum number of connections. Node has already raised the limit of files as far as it may. */
export function connectionLimit(): number {
  const files = Number(/^Max open files\s+(\d+)/m.exec(readLimits())?.[1] ?? Number.POSITIVE_INFINITY)
  return Math.min(MAX_CONNECTIONS, SHARE * files)
}

/** @returns an empty text if there is no such file, because only Linux has it. */
function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'latin1')
  } catch {
    return ''
  }
}
