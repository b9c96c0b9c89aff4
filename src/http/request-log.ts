import type { FastifyBaseLogger } from 'fastify'

type Bindings = Parameters<FastifyBaseLogger['child']>[0]

const METHODS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const

/** Makes the logger of a request when it is first used: most requests log nothing. */
class RequestLog {
  readonly #parent: FastifyBaseLogger
  readonly #bindings: Bindings
  #made: FastifyBaseLogger | undefined

  constructor(parent: FastifyBaseLogger, bindings: Bindings) {
    this.#parent = parent
    this.#bindings = bindings
  }

  get level() {
    return this.#parent.level
  }

  child(...options: Parameters<FastifyBaseLogger['child']>): FastifyBaseLogger {
    return this.made().child(...options)
  }

  made(): FastifyBaseLogger {
    this.#made ??= this.#parent.child(this.#bindings)
    return this.#made
  }
}

for (const name of METHODS) {
  const value = function (this: RequestLog, ...line: Parameters<FastifyBaseLogger['info']>) {
    this.made()[name](...line)
  }
  Object.defineProperty(RequestLog.prototype, name, { value })
}

/** The `childLoggerFactory` of Fastify. A logger of pino for each request would be 5 % of GET /book/:id. */
export function requestLog(parent: FastifyBaseLogger, bindings: Bindings): FastifyBaseLogger {
  return new RequestLog(parent, bindings) as unknown as FastifyBaseLogger
}
