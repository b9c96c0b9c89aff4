import type { Config } from '../../config.ts'
import { OperatorError } from '../../errors.ts'
import { requireFreePort } from '../../http/listen.ts'
import { whyNotCreatable } from '../../store/sqlite/errors.ts'
import { type Command, counted, interruption, withSettings } from '../command.ts'
import { hasDatabase, withStore } from '../with-store.ts'

export const command: Command = {
  usage: 'check',
  description: `Checks the settings, opens the store as the service does at start, asks it for a book, and ends. Exit code 0 means
that the service can start; if this user can only read an SQLite file, that it can be read.`,
  operands: 0,
  options: {},
  run: (args) => withSettings('start with these settings', args, check),
}

async function check(config: Config): Promise<void> {
  const { dbUrl, host, port, metricsPort } = config
  for (const warning of config.warnings) process.stdout.write(`warning: ${warning}\n`)
  for (const [setting, each] of Object.entries({ PORT: port, METRICS_PORT: metricsPort }))
    if (each !== undefined)
      await requireFreePort({ host, port: each, setting }).catch((error: Error) => {
        // The service may be running.
        if ((error.cause as NodeJS.ErrnoException | undefined)?.code !== 'EADDRINUSE') throw error
      })
  if (dbUrl.engine === 'sqlite' && !hasDatabase(dbUrl.path)) {
    const denial = whyNotCreatable(dbUrl.path)
    if (denial !== undefined) throw new OperatorError(`DB_URL: ${dbUrl.path} cannot be made: ${denial}`)
    process.stdout.write(`The settings are good. ${dbUrl.path} is made at the first start.\n`)
    return
  }
  const signal = interruption(() => 'nothing was changed')
  const books = await withStore('DB_URL', { ...config, signal, reads: true }, async (store) => {
    await store.find(1)
    return store.count({}, { signal })
  })
  process.stdout.write(
    `The settings are good, and the store (${dbUrl.engine}) answers: ${counted(books, 'book')}.\n`,
  )
}
