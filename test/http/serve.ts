import assert from 'node:assert/strict'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { after, before, mock, type TestContext } from 'node:test'
import { Auth } from '../../src/auth/auth.ts'
import type { Store } from '../../src/catalogue/store.ts'
import { newFile, openFile } from '../store/sqlite/file.ts'
import { head, RawConnection } from '../support/raw-socket.ts'
import { ACCOUNT, SECRET } from '../support/service.ts'
import { createTestServer, type TestServerOptions } from '../support/test-server.ts'

// A test may keep the event loop busy, which it shares with the server, and the server must not refuse requests for it.
const histogram = Object.getPrototypeOf(Object.getPrototypeOf(monitorEventLoopDelay()))
mock.getter(histogram, 'count', () => 1)
mock.getter(histogram, 'mean', () => 0)

interface Options extends Omit<TestServerOptions, 'log'> {
  /** Functions instead of those of the store. */
  readonly replaced?: (store: Store) => Partial<Store>
}

/** Serves a new SQLite file from this process until `end`. */
async function start({ replaced, ...options }: Options) {
  const file = newFile()
  const store = await openFile(file.path)
  const log: string[] = []
  const app = createTestServer(
    { store: replace(store, replaced?.(store) ?? {}), opened: () => undefined },
    { logLevel: 'info', ...options, log: (line) => log.push(line) },
  )
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const authorization = await new Auth(ACCOUNT, SECRET).issue()
  const lines = () => log.map((line) => JSON.parse(line))
  const assertNoFailures = () =>
    assert.deepEqual(
      lines().filter(({ level }) => level > 30),
      [],
    )
  /** The head of a request with a good token. */
  const authorized = (line: string, ...fields: string[]) =>
    head(line, `Authorization: ${authorization}`, ...fields)
  /** Sends bytes on a connection of their own. @returns the first response. */
  const ask = async (...bytes: (string | Uint8Array)[]) => {
    using connection = await RawConnection.open(url)
    for (const part of bytes) await connection.send(part)
    return await connection.response()
  }
  const end = async () => {
    app.server.closeAllConnections()
    await app.close()
    // At the end of the file of tests, `openFile` has closed it.
    await Promise.allSettled([store.close()])
    file[Symbol.dispose]()
  }
  return { app, url, store, authorization, authorized, ask, lines, assertNoFailures, end }
}

export type Served = Awaited<ReturnType<typeof start>>

/** A server in this process until the test has ended. */
export async function serve(t: TestContext, options: Options = {}): Promise<Served> {
  const served = await start(options)
  t.after(served.end)
  return served
}

/** To be called in a file or a `describe`: the same from before the tests there until after them. */
export function useServer(options: Options = {}, prepare?: (served: Served) => Promise<unknown>): Served {
  const served = {} as Served
  before(async () => {
    Object.assign(served, await start(options))
    await prepare?.(served)
  })
  after(() => served.end())
  return served
}

/** The methods of a store are bound to it, because they use private fields. */
function replace(store: Store, functions: Partial<Store>): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const value = Reflect.get(functions, name) ?? Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
