import type { Server as HttpServer } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import type { FastifyBaseLogger } from 'fastify'
import { onStopSignal } from '../stop-signal.ts'
import { stopListening } from './listen.ts'
import { cut } from './protocol/close.ts'

/** How long requests in flight may take after a stop signal, in milliseconds. */
const GRACE = 5000

/** When the process ends although work is left, such as a long SQLite statement; milliseconds after the signal. */
const STOP_TIMEOUT = 8000

/** How long threads may take to terminate after that, in milliseconds. */
const THREAD_TIME = 500

/** How long to accept connections that clients opened before the signal, in milliseconds. */
const ACCEPT_TIME = 500

/** How often idle connections are closed during shutdown, in milliseconds. */
const IDLE_CHECK_INTERVAL = 50

/**
 * Stops the service on SIGTERM, SIGINT or SIGHUP, after which the process ends with code 0. Another signal, more than a
 * second later, ends it at once. Must be called before a server listens.
 * @param stop finishes the requests in flight, and then releases what they need.
 */
export function stopOnSignal(log: Pick<FastifyBaseLogger, 'info' | 'warn'>, stop: () => Promise<void>): void {
  const threads = new Set<Worker>()
  process.on('worker', (thread) => {
    threads.add(thread)
    thread.once('exit', () => threads.delete(thread))
  })
  onStopSignal(async (signal) => {
    log.info({ signal }, 'stopping')
    setTimeout(() => {
      log.warn('stopped without waiting any longer')
      exitAtOnce(threads)
    }, STOP_TIMEOUT).unref()
    await stop()
    log.info('stopped')
  })
}

/**
 * Must be called before the server listens.
 * @returns a function that stops accepting connections, and waits until the requests in flight have been answered.
 * `close()` of Node's HTTP server would close idle connections at once, even one whose request has arrived but has not
 * been read.
 */
export function drainable(server: HttpServer): () => Promise<void> {
  const connections = new Set<Socket>()
  server.on('connection', (socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  const closeIdle = () => {
    // Node calls a connection idle once its response is complete, even if part of it is still buffered.
    const isSending = [...connections].some((socket) => socket.writableLength > 0)
    if (!isSending) server.closeIdleConnections()
  }
  return async () => {
    if (!server.listening) return
    await acceptWaiting(server)
    const ended = stopListening(server)
    // A turn of the event loop comes first, in which Node reads the requests that have arrived.
    const idle = setInterval(() => nextTurn().then(closeIdle), IDLE_CHECK_INTERVAL)
    const end = setTimeout(() => {
      for (const socket of connections) cut(socket)
    }, GRACE)
    await ended
    clearInterval(idle)
    clearTimeout(end)
  }
}

/**
 * Ends the process. `process.exit()` waits for all threads, and nothing interrupts an SQLite statement in a thread. If
 * a thread does not end, the process therefore kills itself. Every acknowledged write is on disk by then.
 */
async function exitAtOnce(threads: ReadonlySet<Worker>): Promise<void> {
  const ended = Promise.all([...threads].map((thread) => thread.terminate()))
  await Promise.race([ended, sleep(THREAD_TIME)])
  if (threads.size > 0) process.kill(process.pid, 'SIGKILL')
  process.exit()
}

/** Accepts connections that the system has made, or it would reset them. Node accepts one in each turn of its loop. */
async function acceptWaiting(server: HttpServer): Promise<void> {
  const deadline = Date.now() + ACCEPT_TIME
  let turns = 0
  const begin = () => {
    turns = 0
  }
  server.on('connection', begin)
  // Two turns without a connection: when the signal came, Node may have been past the phase that accepts them.
  for (; turns < 2 && Date.now() < deadline; turns++) await nextTurn()
  server.off('connection', begin)
}
