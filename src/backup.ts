import { OperatorError, runCommand } from './command.ts'
import type { Config } from './config.ts'
import { BackupFailed, backupSqlite } from './store/sqlite-backup.ts'

const USAGE = `Copies the database named by DB_URL into a new file, also while the service runs on it.

  npm run backup -- FILE
`

const [target, ...others] = process.argv.slice(2)
if (target === undefined || target.startsWith('-') || others.length > 0) {
  const asked = target === '--help' || target === '-h'
  process[asked ? 'stdout' : 'stderr'].write(USAGE)
  process.exitCode = asked ? 0 : 1
} else {
  await runCommand('back up', (config) => backUp(config, target))
}

async function backUp({ dbUrl }: Config, target: string): Promise<void> {
  if (dbUrl.engine !== 'sqlite') {
    throw new OperatorError(
      'DB_URL: names a server, whose own tools make backups of it (pg_dump, mariadb-dump, …)',
    )
  }
  const interrupt = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => interrupt.abort(new Error('interrupted; nothing is left behind')))
  }
  try {
    await backupSqlite(dbUrl.path, target, showProgress, interrupt.signal)
  } catch (error) {
    if (process.stdout.isTTY) process.stdout.write('\n')
    throw error instanceof BackupFailed ? new OperatorError(error.message) : error
  }
  process.stdout.write(`${process.stdout.isTTY ? '\n' : ''}${dbUrl.path} is backed up in ${target}\n`)
}

/** A bar in a terminal, nothing elsewhere. */
function showProgress(copied: number, total: number): void {
  if (!process.stdout.isTTY) return
  const share = total === 0 ? 1 : copied / total
  const bar = '#'.repeat(Math.round(share * 40)).padEnd(40)
  process.stdout.write(`\r[${bar}] ${Math.round(share * 100)} %, ${copied} of ${total} pages`)
}
