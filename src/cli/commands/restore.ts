import type { Config } from '../../config.ts'
import { restoreSqlite } from '../../store/sqlite/backup.ts'
import { type Command, counted, withSettings } from '../command.ts'
import { databasePath, withPageProgress } from './backup.ts'

export const command: Command = {
  usage: 'restore FILE',
  description: `Puts a copy of a backup in the place of the SQLite database named by DB_URL. Stop the service first. The backup is
checked before, and the database that was there is kept under another name.`,
  operands: 1,
  options: {},
  run: (args) => withSettings('restore', args, (config) => restore(config, args.operand)),
}

async function restore(config: Config, source: string): Promise<void> {
  const target = databasePath(config, 'restore its backups (pg_restore, mariadb, …)')
  const { books, kept } = await withPageProgress('nothing has changed', (show, signal) =>
    restoreSqlite(source, target, show, signal),
  )
  process.stdout.write(`${target} has the ${counted(books, 'book')} of ${source}\n`)
  if (kept !== undefined) process.stdout.write(`the database that was there is kept as ${kept}\n`)
}
