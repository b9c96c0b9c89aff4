import assert from 'node:assert/strict'
import { it, mock } from 'node:test'
import { interruption } from '../../src/cli/command.ts'
import { onStopSignal } from '../../src/stop-signal.ts'
import { activeTimers } from '../support/active-timers.ts'

const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP']

it('signals within a second are one, and after it one ends the process', () => {
  mock.timers.enable({ apis: ['setTimeout'] })
  const stop = mock.fn()
  let fewest = Number.POSITIVE_INFINITY
  onStopSignal(stop)
  process.on('removeListener', (name) => {
    if (SIGNALS.some((each) => each === name)) fewest = Math.min(fewest, process.listenerCount(name))
  })
  process.emit('SIGINT', 'SIGINT')
  mock.timers.tick(999)
  // With a listener the system does nothing.
  for (const name of SIGNALS) assert.ok(process.emit(name, name))
  assert.equal(fewest, 1, 'there was no moment without one')
  assert.deepEqual(
    stop.mock.calls.map((call) => call.arguments),
    [['SIGINT']],
  )
  mock.timers.tick(1)
  assert.deepEqual(
    SIGNALS.map((name) => process.listenerCount(name)),
    [0, 0, 0],
  )
})

it('the time in which signals are one keeps no process from ending, and a command tells what it has done by then', () => {
  mock.timers.reset()
  const before = activeTimers()
  let outcome = 'nothing'
  const signal = interruption(() => outcome)
  outcome = 'something'
  process.emit('SIGTERM', 'SIGTERM')
  assert.equal(activeTimers(), before)
  assert.equal(signal.reason.message, 'interrupted; something')
})
