import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findProgram } from '../support/program.ts'

export const straceMissing = findProgram('strace', 'FAULTS').missing

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

/**
 * Makes system calls of a running process fail, until `end` is called or the result is disposed of.
 * @param fault such as `fsync,fdatasync:error=EIO`; see `inject` in strace(1).
 * @param directory for strace's log.
 */
export async function makeFail(pid: number, fault: string, directory: string) {
  const log = join(directory, 'strace.log')
  const [calls] = fault.split(':', 1)
  const options = ['-f', '-p', String(pid), '-o', log, '-e', `trace=${calls}`, '-e', `inject=${fault}`]
  const strace = spawn('strace', options, { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(strace, 'close')
  // A process that is traced does not end while strace hangs.
  const kill = () => strace.kill('SIGKILL')
  process.prependListener('exit', kill)
  let said = ''
  for await (const text of strace.stderr.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    said += text
    if (said.includes('attached')) break
  }
  if (!said.includes('attached')) throw new Error(`strace is not attached: ${said}`)
  strace.stderr.resume()
  return {
    /** Lets them work again. @returns how many have failed. */
    async end(): Promise<number> {
      strace.kill('SIGINT')
      await ended
      return readFileSync(log, 'utf8').match(/\(INJECTED\)$/gm)?.length ?? 0
    },
    async [Symbol.asyncDispose]() {
      kill()
      await ended
      process.removeListener('exit', kill)
    },
  }
}
