import { cpuTime, threadCpuTime } from '../proc.ts'
import { percentile } from '../statistics.ts'
import { Connection } from './connection.ts'
import type { Job, Load } from './job.ts'
import { clientsOf, requestSource } from './requests.ts'

/** How much longer a measurement and what is sent before it may take for want of answers, in seconds. */
export const LONGEST = 120

/** How long requests that are under way at the end may take, in seconds. */
export const DRAIN_TIME = 60

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
  readonly #warmAt: number
  #begin = 0
  #cpu = { server: 0, writer: 0, database: 0, generator: 0 }
  #load: Omit<Load, 'errors' | 'allAnswers'> | undefined

  constructor(job: Job, resolve: (load: Load) => void) {
    this.#job = job
    this.#resolve = resolve
    const next = requestSource(job)
    this.#connections = Array.from(
      { length: clientsOf(job) },
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
            if (status === expected) this.#answered(time, latency, i < job.connections)
            else this.#failed(`status ${status} instead of ${expected}`)
          },
          failed: (reason) => this.#failed(reason),
        }),
    )
    this.#warmAt = performance.now() + job.warmUp * 1000
    setTimeout(() => this.#finish(performance.now()), (LONGEST + job.warmUp + job.seconds) * 1000).unref()
  }

  /** @param isMeasured whether the client is one of those that are. */
  #answered(time: number, latency: number, isMeasured: boolean): void {
    this.#allAnswers++
    if (isMeasured) this.#count(time, latency)
    if (this.#phase === 'draining') this.#endWhenDrained()
  }

  #count(time: number, latency: number): void {
    // It begins with the end of an answer: with one client and long answers, all that is counted is then whole.
    if (this.#phase === 'warm-up' && time >= this.#warmAt) this.#start()
    else if (this.#phase === 'measuring') {
      this.#latencies.push(latency)
      const { seconds, answers } = this.#job
      if (time - this.#begin >= seconds * 1000 && this.#latencies.length >= answers) this.#finish(time)
    }
  }

  /** What has errors does not count, so there is no more to measure. */
  #failed(reason: string): void {
    this.#errors[reason] = (this.#errors[reason] ?? 0) + 1
    this.#finish(performance.now())
    if (this.#phase === 'draining') this.#endWhenDrained()
  }

  #start(): void {
    this.#cpu = this.#readCpu()
    this.#begin = performance.now()
    this.#phase = 'measuring'
  }

  #finish(time: number): void {
    if (this.#phase !== 'measuring' && this.#phase !== 'warm-up') return
    if (this.#phase === 'warm-up' && Object.keys(this.#errors).length === 0) {
      this.#errors['nothing left to measure, or not answered in time'] = 1
    }
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
        writer: cpu.writer - this.#cpu.writer,
        database: cpu.database - this.#cpu.database,
        generator: cpu.generator - this.#cpu.generator,
      },
    }
    setTimeout(() => this.#end(), DRAIN_TIME * 1000).unref()
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
      writer: threadCpuTime(server, 'writer'),
      database: database === undefined ? 0 : cpuTime(database),
      generator: (own.user + own.system) / 1e6,
    }
  }
}
