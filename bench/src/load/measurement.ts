import { cpuTime } from '../proc.ts'
import { percentile } from '../statistics.ts'
import { Connection } from './connection.ts'
import type { Job, Load } from './job.ts'
import { requestSource } from './requests.ts'

/** A measurement that gets too few answers goes on for so many times its duration at most. */
const PATIENCE = 10

/** How long requests that are under way at the end may take, in milliseconds. */
const DRAIN_TIME = 60_000

/** Keeps all connections busy, and measures once they are warm. */
export function measure(job: Job): Promise<Load> {
  return new Promise((resolve) => new Measurement(job, resolve))
}

class Measurement {
  readonly #job: Job
  readonly #resolve: (load: Load) => void
  readonly #connections: Connection[]
  readonly #errors: Record<string, number> = {}
  #phase: 'warm-up' | 'measuring' | 'draining' | 'done' = 'warm-up'
  #allAnswers = 0
  readonly #latencies: number[] = []
  #begin = 0
  #cpu = { server: 0, database: 0, generator: 0 }
  #load: Omit<Load, 'errors' | 'allAnswers'> | undefined

  constructor(job: Job, resolve: (load: Load) => void) {
    this.#job = job
    this.#resolve = resolve
    const next = requestSource(job)
    this.#connections = Array.from(
      { length: job.connections },
      (_, i) =>
        new Connection(job.port, {
          next: () => {
            if (this.#phase === 'draining' || this.#phase === 'done') return undefined
            const request = next(i)
            // The work is done; the last requests may still be under way.
            if (request === undefined) this.#finish(performance.now())
            return request
          },
          answered: (time, latency, { status: expected }, status) => {
            if (status === expected) this.#answered(time, latency)
            else this.#failed(`status ${status} instead of ${expected}`)
          },
          failed: (reason) => this.#failed(reason),
        }),
    )
    setTimeout(() => this.#start(), job.warmUp * 1000)
    setTimeout(() => this.#finish(performance.now()), (job.warmUp + job.seconds * PATIENCE) * 1000).unref()
  }

  #answered(time: number, latency: number): void {
    this.#allAnswers++
    if (this.#phase === 'measuring') {
      this.#latencies.push(latency)
      const { seconds, answers } = this.#job
      if (time - this.#begin >= seconds * 1000 && this.#latencies.length >= answers) this.#finish(time)
    }
    if (this.#phase === 'draining') this.#endWhenDrained()
  }

  #failed(reason: string): void {
    this.#errors[reason] = (this.#errors[reason] ?? 0) + 1
    if (this.#phase === 'draining') this.#endWhenDrained()
  }

  #start(): void {
    if (this.#phase !== 'warm-up') return
    this.#cpu = this.#readCpu()
    this.#begin = performance.now()
    this.#phase = 'measuring'
  }

  #finish(time: number): void {
    if (this.#phase !== 'measuring' && this.#phase !== 'warm-up') return
    if (this.#phase === 'warm-up') this.#failed('nothing was left to measure after the warm-up')
    this.#phase = 'draining'
    const cpu = this.#readCpu()
    const ascending = this.#latencies.sort((a, b) => a - b)
    this.#load = {
      answers: ascending.length,
      seconds: (time - this.#begin) / 1000,
      p50: percentile(ascending, 0.5),
      p99: percentile(ascending, 0.99),
      max: percentile(ascending, 1),
      cpu: {
        server: cpu.server - this.#cpu.server,
        database: cpu.database - this.#cpu.database,
        generator: cpu.generator - this.#cpu.generator,
      },
    }
    setTimeout(() => this.#end(), DRAIN_TIME).unref()
    // Called from within `next`, a connection is about to learn that it has nothing to send.
    setImmediate(() => this.#endWhenDrained())
  }

  #endWhenDrained(): void {
    if (!this.#connections.some(({ isWaiting }) => isWaiting)) this.#end()
  }

  #end(): void {
    if (this.#phase === 'done' || this.#load === undefined) return
    this.#phase = 'done'
    for (const connection of this.#connections) connection.close()
    this.#resolve({ ...this.#load, errors: this.#errors, allAnswers: this.#allAnswers })
  }

  #readCpu() {
    const { server, database } = this.#job
    const own = process.cpuUsage()
    return {
      server: cpuTime(server),
      database: database === undefined ? 0 : cpuTime(database),
      generator: (own.user + own.system) / 1e6,
    }
  }
}
