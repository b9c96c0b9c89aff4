import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import type { Service } from '../support/service.ts'
import type { Journal } from './journal.ts'
import { Load } from './load.ts'
import { whileRunning } from './running.ts'
import { readStored } from './stored.ts'

/** Starts the service in the directory, kills it while books are written, and compares what is stored. */
export async function crashCycle(directory: string, journal: Journal): Promise<void> {
  await whileRunning(directory, [], async (service) => {
    const load = await loadForAMoment(service, journal)
    await service.stop('SIGKILL')
    await load.ended
  })
  journal.compare(readStored(join(directory, 'books.db')))
}

/** Acknowledged writes of a cycle, at least. */
export const WRITES = 100

/** @returns at a random moment: when up to four times as many are acknowledged, however long they take. */
export async function loadForAMoment(service: Service, journal: Journal): Promise<Load> {
  const load = new Load(service.url, journal)
  await load.begun(WRITES * (1 + 3 * Math.random()))
  // Not always just after a response.
  await setTimeout(10 * Math.random())
  return load
}
