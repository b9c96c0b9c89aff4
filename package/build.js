// Compiles src to JavaScript in dist, which a package has instead of it: Node.js strips no types in node_modules.
import { spawnSync } from 'node:child_process'
import { cpSync, rmSync, statSync } from 'node:fs'

const { npm_lifecycle_event: event, _PACOTE_NO_PREPARE_: packageFromGit } = process.env

// npm runs postprepare when it makes a package from git, and after npm ci, which needs none.
if (event !== 'postprepare' || packageFromGit !== undefined) {
  rmSync('dist', { recursive: true, force: true })
  const { status } = spawnSync('tsc -p package', { stdio: 'inherit', shell: true })
  // Modules that browsers load too are the same files here and there, so that the pages have the same digest.
  const filter = (/** @type {string} */ path) => statSync(path).isDirectory() || path.endsWith('.js')
  cpSync('src', 'dist', { recursive: true, filter })
  process.exitCode = status ?? 1
}
