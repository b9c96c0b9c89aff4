/** How often to look at the clock, in milliseconds. */
const INTERVAL = 100

/** From this delay on, the machine stood still; milliseconds. A busy machine delays a process that waits by less. */
const STALL = 1000

interface Stall {
  /** When it ended, as `performance.now()`, and its length; milliseconds. */
  readonly end: number
  readonly length: number
}

/** Notes how often this process did not run although it wanted to: on a machine that stood still, no other did either. */
export function watchForStalls() {
  const stalls: Stall[] = []
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    if (now - last > STALL) stalls.push({ end: now, length: now - last })
    last = now
  }, INTERVAL).unref()
  const told = (some: readonly Stall[]) => {
    const lengths = some.map(({ length }) => length / 1000)
    const total = lengths.reduce((sum, length) => sum + length, 0)
    return `The machine stood still ${some.length} times, for ${total.toFixed(1)} s, at most ${Math.max(0, ...lengths).toFixed(1)} s at a time.`
  }
  return {
    summary: () => told(stalls),
    /** What happened between these moments, as `performance.now()`. */
    during: (begin: number, end: number) =>
      `Meanwhile: ${told(stalls.filter((stall) => stall.end > begin && stall.end - stall.length < end))}`,
    end: () => clearInterval(timer),
  }
}
