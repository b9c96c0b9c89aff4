import { parentPort, workerData } from 'node:worker_threads'
import { Rpc } from '../../threads/rpc.ts'
import { storeError } from './errors.ts'
import type { Parent, Served, Start } from './threads.ts'

export const { path, opened, countsCommits } = workerData as Start

/** One for each thread that this one is connected with. */
const connected = new Set<Rpc<object>>()

interface Client {
  readonly functions: object
  /** Called when the client has closed its port, or has died. */
  readonly gone?: () => void
}

/**
 * Lets other threads call functions of this one.
 * @param client makes the functions for each of them.
 * @returns the way to call the thread that has started this one.
 */
export function serve(client: () => Client, end: Served['end']): Rpc<Parent> {
  const served: Served = {
    serve(port) {
      const { functions, gone } = client()
      const rpc = new Rpc<object>(port, functions, {
        errorOf: (error) => storeError(error, path),
        onClose() {
          connected.delete(rpc)
          gone?.()
        },
      })
      connected.add(rpc)
    },
    end,
  }
  if (parentPort === null) throw new Error('this file is for a thread')
  const parent = new Rpc<Parent>(parentPort, served)
  connected.add(parent)
  return parent
}

/** Handles the messages that have arrived, even in the middle of a statement. */
export function receiveNow(): void {
  for (const rpc of connected) rpc.receiveNow()
}
