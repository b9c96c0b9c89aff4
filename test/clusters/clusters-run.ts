import { spawnSync } from 'node:child_process'
import { globSync } from 'node:fs'
import { parseArgs } from 'node:util'

const USAGE = `Runs services on real clusters whose servers are killed, stopped and frozen under load, one cluster after the other.

npm run test:clusters -- [--full]      (each event many times: about an hour)
`

/** How long a file may take in the short form, in milliseconds. */
const PATIENCE = 900_000

const { values } = parseArgs({ options: { full: { type: 'boolean' }, help: { type: 'boolean' } } })
if (values.help) process.stdout.write(USAGE)
else {
  const files = globSync('*.test.ts', { cwd: import.meta.dirname }).map((name) => `test/clusters/${name}`)
  const limit = values.full ? [] : [`--test-timeout=${PATIENCE}`]
  const { status } = spawnSync(
    process.execPath,
    ['--test', '--test-concurrency=1', ...limit, ...files.toSorted()],
    {
      stdio: 'inherit',
      env: { ...process.env, ...(values.full && { CLUSTERS_FORM: 'full' }) },
    },
  )
  process.exitCode = status ?? 1
}
