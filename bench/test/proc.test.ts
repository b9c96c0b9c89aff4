import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { describe, it } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { cpuTime, memory, statTicks, statusBytes, threadCpuTime } from '../src/proc.ts'

/** Keeps a core busy for so many milliseconds of CPU time. */
const BUSY = 'const end = process.cpuUsage().user + 300_000; while (process.cpuUsage().user < end);'

describe('/proc', () => {
  it('has the CPU time after a name with anything in it', () => {
    const stat = '42 (a) R (b c) S 1 42 42 0 -1 4194560 1 2 3 4 500 60 7 8 20 0 11 0 100 1000 200'
    assert.equal(statTicks(stat), 500 + 60 + 7 + 8)
    assert.equal(statTicks(''), 0)
  })

  it('has sizes in kibibytes', () => {
    const status = 'Name:\tVmRSS: 1 kB\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n'
    assert.equal(statusBytes(status, 'VmRSS'), 1024 * 1024)
    assert.equal(statusBytes(status, 'VmHWM'), 2048 * 1024)
    assert.equal(statusBytes(status, 'VmSwap'), 0)
  })

  it('counts the time of every thread', async () => {
    const before = cpuTime(process.pid)
    const worker = new Worker(BUSY, { eval: true })
    await once(worker, 'exit')
    assert.ok(cpuTime(process.pid) - before >= 0.2)
  })

  it('tells the time of the threads with a name', async () => {
    const worker = new Worker(`${BUSY} setInterval(() => {}, 1000)`, { eval: true, name: 'busy' })
    const before = cpuTime(process.pid)
    while (threadCpuTime(process.pid, 'busy') < 0.2) await setTimeout(20)
    assert.ok(cpuTime(process.pid) - before >= 0.2)
    assert.equal(threadCpuTime(process.pid, 'idle'), 0)
    await worker.terminate()
  })

  it('counts the time of children that run, and of those that have ended', async () => {
    const before = cpuTime(process.pid)
    const child = spawn(process.execPath, ['-e', `${BUSY} setInterval(() => {}, 1000)`])
    // It runs on until it is killed.
    while (cpuTime(process.pid) - before < 0.2) await setTimeout(20)
    child.kill()
    await once(child, 'exit')
    assert.ok(cpuTime(process.pid) - before >= 0.2, 'when it has ended')
  })

  it('tells a sleeping process from a busy one', () => {
    const before = cpuTime(process.pid)
    spawnSync('sleep', ['0.3'])
    assert.ok(cpuTime(process.pid) - before < 0.2)
  })

  it('knows the most memory that a process has had', () => {
    assert.ok(memory(process.pid, 'VmHWM') >= memory(process.pid, 'VmRSS'))
    assert.ok(memory(process.pid, 'VmRSS') > 10e6)
  })
})
