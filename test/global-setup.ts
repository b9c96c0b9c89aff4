import type { ServerEngine } from './support/database-server.ts'
import {
  ENGINES,
  type Engine,
  engineMissing,
  runningServer,
  SERVER_VARIABLES,
  startSharedServer,
} from './support/engines.ts'
import { ACCOUNT, SECRET, startService, temporaryDirectory } from './support/service.ts'

const started = new AsyncDisposableStack()

/**
 * Starts a service on each engine for the contract suite, which only knows what SPEC_TARGETS says, and the database
 * servers for them and for the tests that ask for databases of their own.
 */
export async function globalSetup(): Promise<void> {
  // The processes of the tests and the services compile what they share once.
  const compiled = temporaryDirectory()
  started.defer(compiled.remove)
  process.env.NODE_COMPILE_CACHE ??= compiled.path
  const engines = ENGINES.filter((engine) => engineMissing(engine) === false)
  const targets = engines.map(startTarget)
  // So that none still starts when another has failed.
  await Promise.allSettled(targets)
  process.env.SPEC_TARGETS = JSON.stringify(await Promise.all(targets))
}

export async function globalTeardown(): Promise<void> {
  await started.disposeAsync()
}

async function startTarget(engine: Engine) {
  const directory = temporaryDirectory()
  started.defer(directory.remove)
  const DB_URL = engine === 'sqlite' ? 'sqlite:books.db' : await newDatabase(engine)
  const service = await startService(directory.path, { DB_URL })
  started.defer(async () => {
    await service.stop()
  })
  return { name: engine, url: service.url, ...ACCOUNT, secret: SECRET }
}

/** Makes a database on the server that is named, or on one that is started for the whole run. @returns its URL. */
async function newDatabase(engine: ServerEngine): Promise<string> {
  const running = runningServer(engine)
  if (running !== undefined) {
    const url = await running.createDatabase()
    started.defer(() => running.dropDatabase(url))
    return url
  }
  const server = await startSharedServer(engine)
  started.defer(() => server.remove())
  process.env[SERVER_VARIABLES[engine]] = server.url
  return server.createDatabase()
}
