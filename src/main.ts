import module from 'node:module'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { isExecutable } from './resources.ts'

// Only the user of the service may read its files (database, backups, exports), whatever the umask of the shell is.
process.umask(0o077)

// Without a listener, SIGUSR1 opens Node's inspector, through which any user of the machine could run code here.
process.on('SIGUSR1', () => {})

// The compile cache makes the next start a third faster. It is in `node_modules`, because whoever can write there can
// change the code anyway. If the service cannot write there, it starts without the cache. Threads read the variable.
// `npm start` sets it earlier, so that Node does not load its type stripper for this file, which takes 15 MB. The
// executable writes nothing beside itself.
if (!isExecutable) {
  process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../node_modules/.cache/node-compile-cache')
  // Deno has no such cache.
  module.enableCompileCache?.()
}

const { runCommandLine } = await import('./cli/command-line.ts')
await runCommandLine(process.argv.slice(2))
// Now, because a service that is killed later would not write its cache. Without a cache, this does nothing.
module.flushCompileCache?.()

// With pretenuring, V8 allocates objects in the old generation if earlier ones often survived. Only a full garbage
// collection frees them and everything that they refer to. When many clients connect to a service that has just
// started, V8 would do so for the objects of all later requests, which doubles the CPU time and causes pauses of 10 ms.
// The flag is set last, because V8 rejects cached code that was compiled with other flags.
setFlagsFromString('--no-allocation-site-pretenuring')
