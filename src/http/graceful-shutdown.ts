import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import { Server, type Socket } from 'node:net'
import { setImmediate, setTimeout as wait } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import type { FastifyInstance } from 'fastify'
import { onStopSignal } from '../stop-signal.ts'

/** How long requests in flight may take to finish after a signal to stop, in milliseconds. */
const GRACE = 5000

/** After which the process ends whatever is left, such as a statement of SQLite that goes on; milliseconds. */
const LIMIT = 8000

/** How long threads may take to end then, in milliseconds. */
const THREAD_TIME = 500

/** How long connections are accepted that the system has made before the signal, if they are many; milliseconds. */
const ACCEPT_TIME = 500

/** How often connections that have become idle are closed while stopping, in milliseconds. */
const IDLE_CHECK_INTERVAL = 50

/**
 * On SIGTERM or SIGINT stops accepting, finishes what is in flight, releases everything else and lets the process
 * end with code 0. Another signal after a second ends it at once. To be called before the server listens.
 * @param release what requests need until their end.
 */
export function stopOnSignal(app: FastifyInstance, release: () => Promise<void>): void {
  const threads = new Set<Worker>()
  process.on('worker', (thread) => {
    threads.add(thread)
    thread.once('exit', () => threads.delete(thread))
  })
  const connections = new Set<Socket>()
  app.server.on('connection', (socket) => {
    connections.add(socket)
    socket.once('close', () => connections.delete(socket))
  })
  onStopSignal(async (signal) => {
    app.log.info({ signal }, 'stopping')
    setTimeout(() => {
      app.log.warn('stopped without waiting any longer')
      exitAtOnce(threads)
    }, LIMIT).unref()
    if (app.server.listening) await drain(app.server, connections)
    await app.close()
    await release()
    app.log.info('stopped')
  })
}

/**
 * Ends the process. `process.exit()` waits for all threads, and nothing interrupts a thread in a statement of SQLite:
 * so with one that does not end the process kills itself. Every acknowledged write is on the disk by then.
 */
async function exitAtOnce(threads: ReadonlySet<Worker>): Promise<void> {
  const ended = Promise.all([...threads].map((thread) => thread.terminate()))
  await Promise.race([ended, wait(THREAD_TIME)])
  if (threads.size > 0) process.kill(process.pid, 'SIGKILL')
  process.exit()
}

/**
 * Stops accepting, and waits for the end of every connection. The HTTP server's own `close` would cut at once those
 * that it takes for idle: also where a request has come that it has not read yet.
 */
async function drain(server: HttpServer, connections: ReadonlySet<Socket>): Promise<void> {
  const ended = once(server, 'close')
  const closeIdle = () => {
    // A connection counts as idle when its answer is complete, although the client has not taken all of it.
    const isSending = [...connections].some((socket) => socket.writableLength > 0)
    if (!isSending) server.closeIdleConnections()
  }
  await acceptWaiting(server)
  Server.prototype.close.call(server)
  // After a turn of the event loop, in which what has come in the meantime is read.
  const idle = setInterval(() => setImmediate().then(closeIdle), IDLE_CHECK_INTERVAL)
  const cut = setTimeout(() => {
    for (const socket of connections) socket.destroy()
  }, GRACE)
  await ended
  clearInterval(idle)
  clearTimeout(cut)
}

/** Accepts the connections that the system has made already, and would cut. Node accepts one in each turn of its loop. */
async function acceptWaiting(server: HttpServer): Promise<void> {
  const deadline = Date.now() + ACCEPT_TIME
  let turns = 0
  const begin = () => {
    turns = 0
  }
  server.on('connection', begin)
  // The turn in which the signal came may be past the point where connections are accepted.
  for (; turns < 2 && Date.now() < deadline; turns++) await setImmediate()
  server.off('connection', begin)
}
