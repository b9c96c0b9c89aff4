/** When something happened, again and again; in milliseconds, by Date.now(). */
export class Times {
  readonly #times: number[] = []

  add(): void {
    this.#times.push(Date.now())
  }

  /** 0 if it has not happened. */
  get last(): number {
    return this.#times.at(-1) ?? 0
  }

  /** The longest time without it, of those that end after `from` and begin before `to`. */
  longestPause(from: number, to: number): { readonly begin: number; readonly end: number } {
    let longest = { begin: from, end: from }
    let begin = from
    for (const time of this.#times.concat(to)) {
      if (time >= from && begin <= to && time - begin > longest.end - longest.begin)
        longest = { begin, end: time }
      begin = time
    }
    return longest
  }

  /** How many times a second it happened between these two. */
  rate(from: number, to: number): number {
    const count = this.#times.filter((time) => time >= from && time < to).length
    return (1000 * count) / (to - from)
  }
}
