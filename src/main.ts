import { type AddressInfo, isIPv6 } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { Auth } from './auth.ts'
import { OperatorError, runCommand } from './command.ts'
import { type Config, configWarnings } from './config.ts'
import { firstSteps } from './first-steps.ts'
import { output } from './output.ts'
import { createServer } from './server.ts'
import { openStore } from './store/open.ts'
import { type Store, StoreNotOpened } from './store/store.ts'

/** How long requests in flight may take to finish after a signal to stop, in milliseconds. */
const GRACE = 8000

/** How often connections that have become idle are closed while stopping, in milliseconds. */
const IDLE_CHECK_INTERVAL = 50

await runCommand('start', start)

async function start(config: Config): Promise<void> {
  const store = await open(config)
  try {
    const app = await createServer({ store, auth: new Auth(config, config.secretToken) }, config.logLevel)
    const url = await listen(app, config)
    // Before anything says that the service is there: whoever reads that may stop it at once.
    stopOnSignal(app, store)
    for (const warning of configWarnings(config)) app.log.warn(warning)
    if (config.generated.has('PASSWORD')) output.write(firstSteps(config, url))
    app.log.info({ url, username: config.username }, 'listening')
  } catch (error) {
    await store.close()
    throw error
  }
}

async function open(config: Config): Promise<Store> {
  try {
    return await openStore(config.dbUrl, {
      connections: config.dbConnections,
      report: (message) => process.stderr.write(`DB_URL: ${message}\n`),
    })
  } catch (error) {
    throw error instanceof StoreNotOpened ? new OperatorError(`DB_URL: ${error.message}`) : error
  }
}

/** @returns the URL under which the service can be reached from this machine. */
async function listen(app: FastifyInstance, { host, port }: Config): Promise<string> {
  await app.ready()
  // Node's own listen, because without a host it takes IPv6 and IPv4, or IPv4 alone where there is no IPv6.
  await new Promise<void>((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => reject(cannotListen(error, host, port))
    app.server.once('error', refuse)
    app.server.listen({ host, port }, () => {
      app.server.off('error', refuse)
      resolve()
    })
  })
  app.server.on('error', (err) => app.log.error({ err }, 'the server failed'))
  const address = app.server.address() as AddressInfo
  const name = host === undefined || host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return `http://${isIPv6(name) ? `[${name}]` : name}:${address.port}`
}

function cannotListen(error: NodeJS.ErrnoException, host: string | undefined, port: number): Error {
  switch (error.code) {
    case 'EADDRINUSE':
      return new OperatorError(`PORT: ${port} is in use; stop the program that uses it, or set another port`)
    case 'EACCES':
      return new OperatorError(
        `PORT: this user may not listen on ${port}; set another port, such as one above 1023`,
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EINVAL':
      return new OperatorError(`HOST: ${host ?? 'every address'} cannot be listened on: ${error.message}`)
    default:
      return error
  }
}

/**
 * On SIGTERM or SIGINT stops accepting, finishes what is in flight, closes the store and lets the process end
 * with code 0. A second signal ends it at once.
 */
function stopOnSignal(app: FastifyInstance, store: Store): void {
  const stop = async (signal: NodeJS.Signals) => {
    process.removeAllListeners('SIGTERM').removeAllListeners('SIGINT')
    app.log.info({ signal }, 'stopping')
    const idle = setInterval(() => app.server.closeIdleConnections(), IDLE_CHECK_INTERVAL)
    const cut = setTimeout(() => app.server.closeAllConnections(), GRACE)
    await app.close()
    clearInterval(idle)
    clearTimeout(cut)
    await store.close()
    app.log.info('stopped')
  }
  process.once('SIGTERM', stop).once('SIGINT', stop)
}
