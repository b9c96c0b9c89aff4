import assert from 'node:assert/strict'
import { type CpuTime, cpuTime, stoodStill } from './cpu-time.ts'

/**
 * What the service refuses for now while it is late: only other programs, and a machine that stands still, may make it
 * late, and no attack.
 */
export class Refusals {
  count = 0
  readonly #pid: number
  readonly #before: CpuTime | undefined
  readonly #still = stoodStill()

  /** From now on. @param process of the service. */
  constructor({ pid = 0 }: { readonly pid?: number | undefined }) {
    this.#pid = pid
    this.#before = cpuTime(pid)
  }

  /** Checks that other programs have kept the service from the processors for longer than it has used them. */
  check(): void {
    const [before, now] = [this.#before, cpuTime(this.#pid)]
    const [ran, waited] = before && now ? [now.ran - before.ran, now.waited - before.waited] : [0, 0]
    const times = `it ran for ${Math.round(ran)} ms, and waited for a processor for ${Math.round(waited)} ms`
    const isExcused = stoodStill() > this.#still || waited > ran
    assert.ok(this.count === 0 || isExcused, `${this.count} requests were refused: ${times}`)
  }
}
