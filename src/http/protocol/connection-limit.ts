import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { isBusy, serveThrough } from './turns.ts'

/** Connections at the same time, if the system allows as many open files. */
const MAX_CONNECTIONS = 8000

/** The share of the open files for connections. The rest is for the store, and for files that are sent. */
const SHARE = 3 / 4

/** How many connections are examined to find an idle one. */
const LOOK_AT = 100

/** The shortest time between two log lines about too many connections, in milliseconds. */
const REPORT_INTERVAL = 60_000

/**
 * Keeps the number of connections below the limit of open files. At that limit Node would close new connections
 * silently, and the store could not open files. When there are too many, the connection that has been idle longest is
 * closed. If no idle one is found, the new one is closed.
 */
export function limitConnections(server: Server, log: FastifyBaseLogger, limit: number): void {
  /** The connection whose newest request is oldest comes first. */
  const connections = new Set<Socket>()
  let closed = 0
  let refused = 0
  let lastReport = Number.NEGATIVE_INFINITY

  function toEnd(socket: Socket): void {
    connections.delete(socket)
    connections.add(socket)
  }

  function closeIdle(): boolean {
    for (const socket of [...connections.values().take(LOOK_AT)]) {
      if (!isBusy(socket)) {
        connections.delete(socket)
        socket.destroy()
        return true
      }
      toEnd(socket)
    }
    return false
  }

  server.on('connection', (socket: Socket) => {
    if (connections.size >= limit) {
      if (closeIdle()) closed++
      else refused++
      report()
    }
    if (connections.size >= limit) {
      socket.destroy()
      return
    }
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  serveThrough(server, (serve) => (request, response) => {
    // A connection that was closed is not added again.
    if (connections.has(request.socket)) toEnd(request.socket)
    serve(request, response)
  })

  function report(): void {
    const now = performance.now()
    if (now - lastReport < REPORT_INTERVAL) return
    log.warn({ limit, closed, refused }, 'too many connections: idle ones are closed, or new ones refused')
    lastReport = now
    closed = 0
    refused = 0
  }
}

/**
 * @param threads that serve connections.
 * @returns how many each may have. Node has already raised the limit of the process as far as the system allows.
 */
export function connectionLimit(threads: number): number {
  const files = Number(/^Max open files\s+(\d+)/m.exec(readLimits())?.[1] ?? Number.POSITIVE_INFINITY)
  return Math.max(1, Math.floor(Math.min(MAX_CONNECTIONS, SHARE * files) / threads))
}

/** @returns an empty text if there is no such file: only Linux has it. */
function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'latin1')
  } catch {
    return ''
  }
}
