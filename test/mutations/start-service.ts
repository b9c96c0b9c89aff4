// Before a file of the contract suite that runs alone: starts the services for it, and ends them after its tests.
import { after } from 'node:test'
import { isMainThread } from 'node:worker_threads'
import { globalSetup, globalTeardown } from '../global-setup.ts'

// Threads load this file, too.
if (isMainThread) {
  await globalSetup()
  after(globalTeardown)
}
