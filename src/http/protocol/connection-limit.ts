import { readFileSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger } from 'fastify'
import { serveThrough } from './malformed-requests.ts'
import { isBusy } from './pipelining.ts'

/** Connections at the same time, where the system allows as many files. */
const MAX_CONNECTIONS = 8000

/** The part of the files that connections may take; the others are for the store, and for files that are sent. */
const SHARE = 3 / 4

/** How many connections are looked at to find one that is idle. */
const LOOK_AT = 100

/** How often the log tells that there are too many, at most; milliseconds. */
const REPORT_INTERVAL = 60_000

/**
 * Keeps the connections below the limit of open files. At that the system's library would close new ones without a word,
 * and the store could open no file. For a new connection the one is closed that has been idle longest; if none is
 * found, the new one is.
 */
export function limitConnections(server: Server, log: FastifyBaseLogger, limit = connectionLimit()): void {
  /** In the order of their newest requests. */
  const connections = new Set<Socket>()
  let [closed, refused] = [0, 0]
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
    // A connection that was closed is not to come back.
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

/** Node has raised the limit of the process already as far as the system lets it. */
function connectionLimit(): number {
  const files = Number(/^Max open files\s+(\d+)/m.exec(readLimits())?.[1] ?? Number.POSITIVE_INFINITY)
  return Math.min(MAX_CONNECTIONS, Math.floor(SHARE * files))
}

/** @returns nothing where there is no such file: only Linux has it. */
function readLimits(): string {
  try {
    return readFileSync('/proc/self/limits', 'latin1')
  } catch {
    return ''
  }
}
