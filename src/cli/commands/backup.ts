import type { Config } from '../../config.ts'
import { OperatorError, UsageError } from '../../errors.ts'
import { backupSqlite } from '../../store/sqlite/backup.ts'
import { type Command, interruption, withSettings } from '../command.ts'
import { ProgressBar } from '../progress-bar.ts'

export const command: Command = {
  usage: 'backup FILE',
  description:
    'Copies the SQLite database named by DB_URL into a new file, also while the service runs on it.',
  operands: 1,
  options: {},
  run: (args) => {
    // Otherwise, `backup - | gzip >FILE` would write a file of the name -, and seem to work.
    if (args.operand === '-') throw new UsageError('backup cannot write to standard output: name a file')
    return withSettings('back up', args, (config) => backUp(config, args.operand))
  },
}

async function backUp(config: Config, target: string): Promise<void> {
  const source = databasePath(config, 'make backups of it (pg_dump, mariadb-dump, …)')
  await withPageProgress('nothing is left behind', (show, signal) =>
    backupSqlite(source, target, show, signal),
  )
  process.stdout.write(`${source} is backed up in ${target}\n`)
}

/** @param tools what those of a server do instead. @throws OperatorError if `DB_URL` names a server. */
export function databasePath({ dbUrl }: Config, tools: string): string {
  if (dbUrl.engine !== 'sqlite') throw new OperatorError(`DB_URL: names a server, whose own tools ${tools}`)
  return dbUrl.path
}

/** @param outcome of an interruption. @returns the result of `work`, while which the copied pages are shown. */
export async function withPageProgress<Result>(
  outcome: string,
  work: (show: (copied: number, total: number) => void, signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const signal = interruption(() => outcome)
  const progress = new ProgressBar('copying', 'pages')
  return await work((copied, total) => progress.update(copied, total), signal).finally(() => progress.end())
}
