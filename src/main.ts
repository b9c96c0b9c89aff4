import module from 'node:module'
import { setFlagsFromString } from 'node:v8'
import { runCommandLine } from './cli/command-line.ts'

// Only the user of the service may read its files (database, backups, exports), whatever the umask of the shell is.
process.umask(0o077)

// Without a listener, SIGUSR1 opens Node's inspector, through which any user of the machine could run code here.
process.on('SIGUSR1', () => {})

// Otherwise, an output that is full or that nobody reads would end a command with a stack trace, whatever it has done.
process.stdout.on('error', ({ message }) => {
  if (process.exitCode === undefined) process.stderr.write(`The output cannot be written: ${message}\n`)
  process.exitCode = 1
})

// Then there is no place left to report anything, and no reason to end a service or an import that works.
process.stderr.on('error', () => {})

await runCommandLine(process.argv.slice(2))
// Now, because a service that is killed later would not write its compile cache (NODE_COMPILE_CACHE). Deno has none.
module.flushCompileCache?.()

// With pretenuring, V8 allocates objects in the old generation if earlier ones often survived. Only a full garbage
// collection frees them and everything that they refer to. When many clients connect to a service that has just
// started, V8 would do so for the objects of all later requests, which doubles the CPU time and causes pauses of 10 ms.
// The flag is set last, because V8 rejects cached code that was compiled with other flags.
setFlagsFromString('--no-allocation-site-pretenuring')
