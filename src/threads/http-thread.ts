/** A thread that answers requests beside others. The main thread tells it what to do, and does what all share. */
import { parentPort, workerData } from 'node:worker_threads'
import type { LoginLimit } from '../auth/login-throttle.ts'
import type { Store } from '../catalogue/store.ts'
import type { Config } from '../config.ts'
import type { ImportTurns } from '../files/import-turn.ts'
import { createLogger } from '../observability/logging.ts'
import type { MetricValues } from '../observability/metrics.ts'
import { openBookReader } from '../store/sqlite/book-reader.ts'
import { AnswerCount } from '../store/sqlite/shared-read.ts'
import { connect } from './channel.ts'
import { HttpService } from './http-service.ts'
import { openConfiguredStore } from './open-store.ts'
import { type Group, RemoteStore, type StoreCalls } from './remote-store.ts'

/** What the main thread does for this one. */
export interface MainCalls extends StoreCalls {
  /** This thread can be called from now on. */
  started(): void
  wait: LoginLimit['wait']
  attempt: LoginLimit['attempt']
  beginImport: ImportTurns['begin']
  endImport: ImportTurns['end']
  log(line: string): void
}

/** What this thread does for the main one. */
export interface HttpThreadCalls {
  listen(port: number): Promise<string>
  open(): Promise<void>
  stop(): Promise<void>
  metrics(): Promise<MetricValues>
  nextGroup(call: number): Promise<Group>
}

/** What this thread starts with. */
export interface HttpThreadData {
  readonly config: Config
  /** The memory of an AnswerCount. */
  readonly answers: SharedArrayBuffer
}

if (parentPort === null) throw new Error('this file is for a thread')
const { config, answers } = workerData as HttpThreadData

const main = connect<MainCalls, HttpThreadCalls>(parentPort, {
  listen: (port) => service.listen(port),
  open: () => service.open(),
  stop: () => service.stop(),
  metrics: () => service.metricValues(),
  nextGroup: (call) => remote.nextGroup(call),
})
const remote = new RemoteStore(main)
const service = await HttpService.create(
  config,
  {
    loginLimit: { wait: (address) => main.wait(address), attempt: (...login) => main.attempt(...login) },
    importTurns: { begin: () => main.beginImport(), end: () => main.endImport() },
  },
  createLogger(config.logLevel, { write: (line) => void main.log.asEvent(line) }),
  openStore,
)
void main.started.asEvent()

/** Only one thread may write to an SQLite file. This one reads single books, lists and short pages itself. */
async function openStore(): Promise<Store> {
  const { dbUrl } = config
  if (dbUrl.engine !== 'sqlite') return openConfiguredStore(config)
  const books = openBookReader(dbUrl.path, new AnswerCount(answers))
  return {
    create: (book) => remote.create(book),
    find: (id) => books.find(id),
    page: async (query, after, bounds, options) =>
      books.page(query, after, bounds) ?? remote.page(query, after, bounds, options),
    count: (...query) => remote.count(...query),
    statistics: (...query) => remote.statistics(...query),
    update: (...change) => remote.update(...change),
    delete: (...book) => remote.delete(...book),
    import: (...books) => remote.import(...books),
    ready: async () => {
      await books.ready()
      await remote.ready()
    },
    load: () => ({}),
    close: () => books.close(),
  }
}
