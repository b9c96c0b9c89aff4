const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/**
 * How long further signals belong to the first one, in milliseconds. Ctrl-C reaches every process of a terminal.
 * SIGTERM from a supervisor may reach every process of a group. npm and `bin/` also forward their signals.
 */
const SAME_SIGNAL_TIME = 1000

/** Calls `stop` on the first SIGINT or SIGTERM. Another one, more than a second later, ends the process at once. */
export function onStopSignal(stop: (signal: NodeJS.Signals) => void): void {
  const ignore = () => {}
  const begin = (signal: NodeJS.Signals) => {
    // The order matters: without a listener, a signal would end the process.
    for (const each of SIGNALS) process.on(each, ignore).off(each, begin)
    setTimeout(() => {
      for (const each of SIGNALS) process.off(each, ignore)
    }, SAME_SIGNAL_TIME).unref()
    stop(signal)
  }
  for (const each of SIGNALS) process.on(each, begin)
}
