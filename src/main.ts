import { enableCompileCache, flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'

// What the service writes (the database, backups, exports) is for its user alone, whatever the shell's umask says.
process.umask(0o077)

// Without a listener Node would open its inspector, through which every user of the machine could run code here.
process.on('SIGUSR1', () => {})

// What was compiled is kept for the next start, which then takes a third less time; beside the packages, where nobody
// can write who may not change the code anyway. Where the service cannot, nothing is kept. Threads look at the setting.
// `npm start` sets it before: then Node needs not load what strips the types of this file, which takes 15 MB.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../node_modules/.cache/node-compile-cache')
enableCompileCache()

const { runCommandLine } = await import('./cli/command-line.ts')
await runCommandLine(process.argv.slice(2))
// Also for the next start of a service that will be killed; without a cache nothing happens.
flushCompileCache()

// V8 takes objects that were found alive often for such as stay, and makes them where only a full collection frees
// them, with all that they refer to. When many clients come at once to a service that has just started, it thinks so of
// what is made for every request, for ever: twice the CPU time and pauses of 10 ms. Set only now, because V8 takes no
// code that was compiled with other flags.
setFlagsFromString('--no-allocation-site-pretenuring')
