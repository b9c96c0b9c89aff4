import module from 'node:module'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { isExecutable } from './resources.ts'

// Only the service's user may read its files (database, backups, exports), whatever the shell's umask is.
process.umask(0o077)

// Without a listener, Node would open its inspector. Any user of the machine could then run code here.
process.on('SIGUSR1', () => {})

// The cache of compiled code makes the next start a third faster. It is beside the packages: whoever can write there
// can change the code anyway. If the service cannot, nothing is cached. Threads read the variable. `npm start` sets it
// earlier, so Node need not load its type stripper for this file, which takes 15 MB. An executable leaves nothing beside
// itself.
if (!isExecutable) {
  process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../node_modules/.cache/node-compile-cache')
  // Deno has no such cache.
  module.enableCompileCache?.()
}

const { runCommandLine } = await import('./cli/command-line.ts')
await runCommandLine(process.argv.slice(2))
// This also helps if the service is killed later. Without a cache it does nothing.
module.flushCompileCache?.()

// V8 allocates objects in the old generation if earlier ones often survived. Only a full collection frees them and all
// that they refer to. When many clients reach a service that has just started, V8 does so for the objects of every
// request, forever. That doubles the CPU time and causes pauses of 10 ms. The flag is set last, because V8 rejects
// cached code that was compiled with other flags.
setFlagsFromString('--no-allocation-site-pretenuring')
