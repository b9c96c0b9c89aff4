// Runs all tests, also after a failure, and prints one table.
import { spawnSync } from 'node:child_process'
import { Console } from 'node:console'

/** The scripts of package.json, in the order in which they run. */
export const SCRIPTS = [
  ...['test', 'test:faults', 'test:clusters', 'test:deploy', 'test:clients', 'test:package'],
  ...['test:executable', 'test:image', 'test:systemd', 'test:installations', 'test:bench'],
]

function runScript(script: string) {
  process.stdout.write(`\n# npm run ${script}\n`)
  const begin = Date.now()
  const { status } = spawnSync('npm', ['run', '--silent', script], { stdio: 'inherit' })
  const minutes = ((Date.now() - begin) / 60_000).toFixed(1)
  return { script, result: status === 0 ? 'passed' : 'FAILED', minutes }
}

if (import.meta.main) {
  const table = SCRIPTS.map(runScript)
  new Console(process.stdout).table(table)
  process.exitCode = table.every(({ result }) => result === 'passed') ? 0 : 1
}
