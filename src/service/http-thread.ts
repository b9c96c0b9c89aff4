/** One of several threads that answer requests. The main thread supervises them, and keeps what they share. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { LoginLimit } from '../auth/login-throttle.ts'
import type { Store } from '../catalogue/store.ts'
import type { Config } from '../config.ts'
import type { ImportTurns } from '../http/services.ts'
import { createLogger } from '../observability/logging.ts'
import { openStore } from '../store/open.ts'
import { openSqlite } from '../store/sqlite/store.ts'
import { ResponseCount, type ThreadKind } from '../store/sqlite/threads.ts'
import { Rpc } from '../threads/rpc.ts'
import { createHttpService } from './http-service.ts'
import { storeOptions } from './service.ts'

/** Functions of the main thread that this one calls. */
export interface SupervisorFunctions {
  /** Says that this thread can be called from now on. */
  started(): void
  wait: LoginLimit['wait']
  attempt: LoginLimit['attempt']
  beginImport: ImportTurns['begin']
  endImport: ImportTurns['end']
  log(line: string): void
  /** @returns a port to a thread of the SQLite file. */
  connect(kind: ThreadKind): Promise<MessagePort>
}

export interface HttpThreadData {
  readonly config: Config
  /** The memory of a ResponseCount. */
  readonly responses: SharedArrayBuffer
}

if (parentPort === null) throw new Error('this file is for a thread')
const { config, responses } = workerData as HttpThreadData

const service = await createHttpService(
  config,
  {
    loginLimit: {
      wait: (address) => supervisor.call('wait', address),
      attempt: (...login) => supervisor.call('attempt', ...login),
    },
    importTurns: {
      begin: () => supervisor.call('beginImport'),
      end: () => supervisor.call('endImport'),
    },
  },
  createLogger(config.logLevel, { write: (line) => void supervisor.call('log', line) }),
  open,
)
const supervisor = new Rpc<SupervisorFunctions>(parentPort, service)
void supervisor.call('started')

async function open(): Promise<Store> {
  const { dbUrl, threads } = config
  if (dbUrl.engine !== 'sqlite') return openStore(dbUrl, storeOptions(config))
  return openSqlite({
    path: dbUrl.path,
    connect: (kind) => supervisor.call('connect', kind),
    responses: new ResponseCount(responses),
    threads,
  })
}
