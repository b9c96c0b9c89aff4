/** SIGHUP tells that the terminal was closed. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/**
 * Signals within this time count as one, in milliseconds. Ctrl-C reaches every process of a terminal, a supervisor may
 * signal every process of a group, and npm and `bin/` also forward their signals.
 */
const SAME_SIGNAL_TIME = 1000

/** Calls `stop` on the first SIGINT, SIGTERM or SIGHUP. Another one, more than a second later, ends the process at once. */
export function onStopSignal(stop: (signal: NodeJS.Signals) => void): void {
  const ignore = () => {}
  const begin = (signal: NodeJS.Signals) => {
    // In this order, because a signal without a listener would end the process.
    for (const each of SIGNALS) process.on(each, ignore).off(each, begin)
    setTimeout(() => {
      for (const each of SIGNALS) process.off(each, ignore)
    }, SAME_SIGNAL_TIME).unref()
    stop(signal)
  }
  for (const each of SIGNALS) process.on(each, begin)
}
