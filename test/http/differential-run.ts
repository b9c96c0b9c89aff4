import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { readCount } from '../faults/options.ts'

const USAGE = `Sends random sequences of requests to all engines, and compares their responses.

npm run test:differential -- [--sequences N]      (5,000 by default)
`

const DIFFERENTIAL_RUNS = String(readCount(USAGE, 'sequences', 5000))
const child = spawn(process.execPath, ['--test', join(import.meta.dirname, 'differential.long.ts')], {
  env: { ...process.env, DIFFERENTIAL_RUNS },
  stdio: 'inherit',
})
child.on('exit', (code) => {
  process.exitCode = code ?? 1
})
