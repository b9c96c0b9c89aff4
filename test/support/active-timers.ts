/** @returns how many timers keep this process from ending. */
export const activeTimers = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
