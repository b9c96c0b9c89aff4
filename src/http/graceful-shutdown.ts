import type { Server as HttpServer } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import type { FastifyBaseLogger } from 'fastify'
import { onStopSignal } from '../stop-signal.ts'
import { stopListening } from './listen.ts'

/** How long requests in flight may take after a signal to stop, in milliseconds. */
const GRACE = 5000

/** When the process ends even if work is left, such as a long statement of SQLite; milliseconds after the signal. */
const LIMIT = 8000

/** How long threads may take to end after that, in milliseconds. */
const THREAD_TIME = 500

/** How long connections are accepted that clients opened before the signal, in milliseconds. */
const ACCEPT_TIME = 500

/** How often connections that have become idle are closed while stopping, in milliseconds. */
const IDLE_CHECK_INTERVAL = 50

/**
 * Makes SIGTERM and SIGINT stop the service, after which the process ends with code 0. Another signal after a second
 * ends it at once. Must be called before a server listens.
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
    }, LIMIT).unref()
    await stop()
    log.info('stopped')
  })
}

/**
 * Must be called before the server listens.
 * @returns a function that stops accepting connections, and waits until the requests in flight are answered.
 */
export function drainable(server: HttpServer): () => Promise<void> {
  const connections = new Set<Socket>()
  server.on('connection', (socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  return async () => {
    if (server.listening) await drain(server, connections)
  }
}

/**
 * Ends the process. `process.exit()` waits for all threads, and nothing interrupts a statement of SQLite in a thread.
 * If a thread does not end, the process therefore kills itself. Every acknowledged write is on the disk by then.
 */
async function exitAtOnce(threads: ReadonlySet<Worker>): Promise<void> {
  const ended = Promise.all([...threads].map((thread) => thread.terminate()))
  await Promise.race([ended, sleep(THREAD_TIME)])
  if (threads.size > 0) process.kill(process.pid, 'SIGKILL')
  process.exit()
}

/**
 * Stops accepting, and waits for the end of every connection. The `close` of Node's HTTP server would cut idle
 * connections at once, even one with a request that Node has not read yet.
 */
async function drain(server: HttpServer, connections: ReadonlySet<Socket>): Promise<void> {
  const closeIdle = () => {
    // For Node a connection is idle when its response is complete, even if the client has not taken all of it.
    const isSending = [...connections].some((socket) => socket.writableLength > 0)
    if (!isSending) server.closeIdleConnections()
  }
  await acceptWaiting(server)
  const ended = stopListening(server)
  // Idle connections are closed only after a turn of the event loop, in which Node reads what has arrived.
  const idle = setInterval(() => nextTurn().then(closeIdle), IDLE_CHECK_INTERVAL)
  const cut = setTimeout(() => {
    for (const socket of connections) socket.destroy()
  }, GRACE)
  await ended
  clearInterval(idle)
  clearTimeout(cut)
}

/** Accepts connections that the system has made already, and would cut. Node accepts one in each turn of its loop. */
async function acceptWaiting(server: HttpServer): Promise<void> {
  const deadline = Date.now() + ACCEPT_TIME
  let turns = 0
  const begin = () => {
    turns = 0
  }
  server.on('connection', begin)
  // In the turn in which the signal came, Node may have passed the point where it accepts connections.
  for (; turns < 2 && Date.now() < deadline; turns++) await nextTurn()
  server.off('connection', begin)
}
