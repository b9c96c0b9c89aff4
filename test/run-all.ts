// Runs all tests, also after a failure, and prints one table.
import { spawn } from 'node:child_process'
import { Console } from 'node:console'
import { once } from 'node:events'

/** The scripts of package.json, in the order in which they run. */
export const SCRIPTS = [
  ...['test', 'test:faults', 'test:clusters', 'test:deploy', 'test:clients', 'test:package'],
  ...['test:executable', 'test:image', 'test:systemd', 'test:installations', 'test:bench'],
]

async function runScript(script: string) {
  process.stdout.write(`\n# npm run ${script}\n`)
  const begin = Date.now()
  const child = spawn('npm', ['run', '--silent', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  let end = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    process.stdout.write(text)
    end = (end + text).slice(-1000)
  })
  const [code] = await once(child, 'close')
  const [, passed = '', failed = '', skipped = ''] =
    /(\d+) passed, (\d+) failed, (\d+) skipped\s*$/.exec(end) ?? []
  const minutes = ((Date.now() - begin) / 60_000).toFixed(1)
  return { script, result: code === 0 ? 'passed' : 'FAILED', passed, failed, skipped, minutes }
}

if (import.meta.main) {
  const table = []
  for (const script of SCRIPTS) table.push(await runScript(script))
  new Console(process.stdout).table(table)
  process.exitCode = table.every(({ result }) => result === 'passed') ? 0 : 1
}
