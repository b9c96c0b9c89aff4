// The command: reads its options, prepares what is to be measured, and measures it.
import { resolve } from 'node:path'
import { type Options, readOptions, USAGE } from './options.ts'
import { prepare } from './prepare.ts'

const args = process.argv.slice(2)
if (args.includes('--help')) process.stdout.write(USAGE)
else {
  const options = chosenOptions()
  prepare(options.contenders)
  // Only now are the packages of the service there for certain, which start the database servers.
  const { bench } = await import('./bench.ts')
  await bench(options, ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' '))
}

function chosenOptions(): Options {
  try {
    return readOptions(args, resolve(import.meta.dirname, '..'))
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${USAGE}`)
    process.exit(2)
  }
}
