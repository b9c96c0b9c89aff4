import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { bePolite, type Kind } from './polite-client.ts'
import { Refusals } from './refusals.ts'
import type { ServiceInUse } from './use-service.ts'

/** The most memory that an attack may make the service take (docs/operations.md, Memory), in bytes. */
const MOST_MEMORY = 400e6

/**
 * Runs an attack beside a polite client, and sees that neither this one nor the memory suffers.
 * @param kinds of requests of the polite client that have to be answered in time.
 * @param wait the most processor time that the service takes before such a response, in milliseconds.
 */
export async function withstand<Result>(
  t: TestContext,
  service: ServiceInUse,
  kinds: readonly Kind[],
  wait: number,
  attack: () => Promise<Result>,
): Promise<Result> {
  const end = new AbortController()
  const refusals = new Refusals(service)
  const client = bePolite(service.url, service.token, end.signal, service.pid)
  const result = await attack().finally(() => end.abort())
  const report = await client
  const memory = service.memory('VmHWM')
  t.diagnostic(`the memory is ${Math.round(memory / 1e6)} MB at most; beside the attack: ${report}`)
  assert.ok(memory < MOST_MEMORY, `the memory is ${Math.round(memory / 1e6)} MB at most`)
  assert.deepEqual(report.failures, [], String(report))
  refusals.count = report.refusals
  refusals.check()
  for (const kind of kinds) assert.ok(report.p99(kind) < wait, String(report))
  return result
}
