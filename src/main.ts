import { flushCompileCache } from 'node:module'
import { runCommandLine } from './command-line.ts'

await runCommandLine(process.argv.slice(2))
// Also for the next start of a service that will be killed; without a cache nothing happens.
flushCompileCache()
