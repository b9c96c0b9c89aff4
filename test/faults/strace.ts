import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'

/** Why system calls cannot be made to fail, or false if they can. */
export const straceMissing =
  process.platform !== 'linux' || spawnSync('strace', ['--version']).status !== 0 ? 'needs strace' : false

/** How long strace may take to attach and to detach, in milliseconds. */
const PATIENCE = 60_000

/**
 * Calls a function in a process in which system calls fail.
 * @param faults as for `makeFail`.
 * @param source the path of the module that exports it.
 * @returns the code of the error that it throws, or nothing.
 */
export function callWhile(
  faults: readonly string[],
  source: string,
  name: string,
  ...args: string[]
): string {
  const script = `
    import { ${name} } from ${JSON.stringify(source)}
    try { ${name}(...process.argv.slice(1)) } catch ({ code }) { process.stdout.write(code) }`
  const inject = faults.flatMap((fault) => ['-e', `inject=${fault}`])
  const node = [process.execPath, '--input-type=module', '--eval', script, ...args]
  return execFileSync('strace', ['-f', '-o', '/dev/null', ...inject, ...node], { encoding: 'utf8' })
}

/** System calls of a process that fail until `end` is called, or it is disposed of. */
export interface Failing extends AsyncDisposable {
  /** Lets them work again. @returns how many have failed, by name. */
  end(): Promise<Record<string, number>>
}

/**
 * Makes system calls of a running process fail.
 * @param fault such as `fsync,fdatasync:error=EIO`; see `inject` in strace(1).
 * @param directory for strace's log.
 */
export async function makeFail(pid: number, fault: string, directory: string): Promise<Failing> {
  if (straceMissing !== false) throw new Error(straceMissing)
  const log = join(directory, 'strace.log')
  const [calls] = fault.split(':', 1)
  const options = ['-f', '-p', String(pid), '-o', log, '-e', `trace=${calls}`, '-e', `inject=${fault}`]
  const strace = spawn('strace', options, { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(strace, 'close')
  let said = ''
  strace.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  const deadline = Date.now() + PATIENCE
  while (!said.includes('attached')) {
    if (strace.exitCode !== null || Date.now() > deadline) throw new Error(`strace is not attached: ${said}`)
    await setTimeout(10)
  }
  // A process that is traced does not end while strace hangs.
  const kill = () => strace.kill('SIGKILL')
  process.prependListener('exit', kill)
  const dispose = async () => {
    kill()
    await ended
    process.removeListener('exit', kill)
  }
  return {
    [Symbol.asyncDispose]: dispose,
    async end() {
      strace.kill('SIGINT')
      await Promise.race([ended, setTimeout(PATIENCE, undefined, { ref: false })])
      await dispose()
      const failed = readFileSync(log, 'utf8').matchAll(/(\w+)(?:\(| resumed>).*\(INJECTED\)/g)
      const counts: Record<string, number> = {}
      for (const [, name = ''] of failed) counts[name] = (counts[name] ?? 0) + 1
      return counts
    },
  }
}
