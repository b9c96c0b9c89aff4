/** Milliseconds between two updates of the bar in a terminal. */
const TERMINAL_INTERVAL = 100

/** Milliseconds between two lines where standard error is no terminal. */
const LINE_INTERVAL = 10_000

/** The width of the bar, in characters. */
const WIDTH = 30

/** Shows progress on standard error, because standard output is for results: a bar in a terminal, otherwise lines. */
export class ProgressBar {
  readonly #what: string
  readonly #unit: string
  readonly #begin = Date.now()
  readonly #isTerminal = process.stderr.isTTY === true
  #lastUpdate = Date.now()
  #isDrawn = false

  /** @param what such as "exporting". @param unit such as "books". */
  constructor(what: string, unit: string) {
    this.#what = what
    this.#unit = unit
  }

  /**
   * @param number is shown. @param done how much of `total` is done, if that is not the number itself.
   * @param total undefined if it is unknown. It may be too small, if others write meanwhile.
   */
  update(number: number, total: number | undefined, done = number): void {
    const now = Date.now()
    if (now - this.#lastUpdate < (this.#isTerminal ? TERMINAL_INTERVAL : LINE_INTERVAL)) return
    this.#lastUpdate = now
    const share = total === undefined ? undefined : done / Math.max(done, total, 1)
    const text = this.#describe(number, share, (now - this.#begin) / 1000)
    if (!this.#isTerminal) process.stderr.write(`${text}\n`)
    else {
      process.stderr.write(`\r\x1b[K${text}`)
      this.#isDrawn = true
    }
  }

  /** Removes the bar. Must be called before anything else is written. */
  end(): void {
    if (this.#isDrawn) process.stderr.write('\r\x1b[K')
    this.#isDrawn = false
  }

  #describe(number: number, share: number | undefined, seconds: number): string {
    const rate = `${count(number)} ${this.#unit}, ${count(number / seconds)} per second`
    if (share === undefined) return `${this.#what}: ${rate}`
    const left = share === 0 ? '' : `, ${duration((seconds * (1 - share)) / share)} left`
    const bar = this.#isTerminal ? `[${'#'.repeat(Math.round(share * WIDTH)).padEnd(WIDTH)}] ` : ''
    return `${this.#what}: ${bar}${Math.floor(share * 100)} %, ${rate}${left}`
  }
}

function count(number: number): string {
  return Math.round(number).toLocaleString('en')
}

function duration(seconds: number): string {
  const whole = Math.ceil(seconds)
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`
}
