import { Worker } from 'node:worker_threads'
import { StoreUnavailable } from '../catalogue/store.ts'
import { resources, type ThreadName } from '../resources.ts'
import { type Callable, Rpc } from './rpc.ts'

/** A thread that this one starts, and whose functions it calls. */
export class Thread<Functions extends Callable<Functions>> {
  readonly #rpc: Rpc<Functions>
  readonly #worker: Worker
  #isAlive = true
  /** Fulfilled with the reason once the thread has ended. */
  readonly death: Promise<Error>
  readonly call: Rpc<Functions>['call']

  /**
   * @param name for messages, and for tools of the system.
   * @param code has to make an `Rpc` with its `parentPort`.
   * @param youngGeneration the size of V8's young generation, in MiB.
   * @param functions that the thread may call.
   */
  constructor(name: string, code: ThreadName, data: object, youngGeneration: number, functions: object = {}) {
    this.#worker = new Worker(resources.thread(code), {
      name,
      workerData: data,
      // Node refuses this flag of a program that it has from its command line where the code is in a file.
      ...(process.execArgv.some((flag) => flag.startsWith('--input-type')) && { execArgv: [] }),
      resourceLimits: { maxYoungGenerationSizeMb: youngGeneration },
    })
    this.#rpc = new Rpc<Functions>(this.#worker, functions)
    this.call = this.#rpc.call.bind(this.#rpc)
    let cause: unknown = new Error('it was terminated')
    this.#worker.on('error', (error) => {
      cause = error
    })
    const death = Promise.withResolvers<Error>()
    this.death = death.promise
    this.#worker.on('exit', () => {
      this.#isAlive = false
      const error = new StoreUnavailable(`the ${name} thread died`, { cause })
      this.#rpc.close(error)
      death.resolve(error)
    })
  }

  get isAlive(): boolean {
    return this.#isAlive
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate()
  }
}
