/** How often a terminal is told, and anything else; milliseconds. */
const [TERMINAL_INTERVAL, LINE_INTERVAL] = [100, 10_000]

/** Characters of the bar. */
const WIDTH = 30

/**
 * Tells on standard error how far long work has come: a bar in a terminal, elsewhere a line now and then. Standard
 * output is for what a command is asked for.
 */
export class Progress {
  readonly #what: string
  readonly #unit: string
  readonly #begin = Date.now()
  readonly #isTerminal = process.stderr.isTTY === true
  #told = Date.now()
  #isDrawn = false

  /**
   * @param what is being done, such as "exporting".
   * @param unit of what is counted, such as "books".
   */
  constructor(what: string, unit: string) {
    this.#what = what
    this.#unit = unit
  }

  /**
   * @param done so many of the unit.
   * @param share of all the work, 0 to 1; undefined if that is not known.
   */
  update(done: number, share: number | undefined): void {
    const now = Date.now()
    if (now - this.#told < (this.#isTerminal ? TERMINAL_INTERVAL : LINE_INTERVAL)) return
    this.#told = now
    const text = this.#describe(done, share, (now - this.#begin) / 1000)
    if (!this.#isTerminal) process.stderr.write(`${text}\n`)
    else {
      process.stderr.write(`\r\x1b[K${text}`)
      this.#isDrawn = true
    }
  }

  /** Takes the bar away. To be called before anything else is said. */
  end(): void {
    if (this.#isDrawn) process.stderr.write('\r\x1b[K')
    this.#isDrawn = false
  }

  #describe(done: number, share: number | undefined, seconds: number): string {
    const rate = `${count(done)} ${this.#unit}, ${count(done / seconds)} per second`
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
