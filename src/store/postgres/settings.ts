import pg from 'pg'
import { applySettings, type Setting, type Settings } from '../client-server/settle.ts'
import { meaningOf } from './errors.ts'

const { escapeIdentifier } = pg

/** Time limits and default_transaction_read_only are left alone: they change no results, and are set on purpose. */
const SETTINGS: Settings = {
  client_encoding: 'UTF8',
  standard_conforming_strings: 'on',
  // Otherwise a NULL in a list becomes the text “NULL”.
  array_nulls: 'on',
  // Otherwise the names of types are in quotation marks.
  quote_all_identifiers: 'off',
  // Otherwise searches leave out some of the books.
  gin_fuzzy_search_limit: 0,
  // All but `off` wait until the commit is on disk.
  synchronous_commit: ['on', 'local', 'remote_write', 'remote_apply'],
}

const READ = `
  SELECT name, current_setting(name, true) AS value, pg_backend_pid() AS process,
    session_user AS account, current_database() AS database
  FROM unnest(ARRAY[${Object.keys(SETTINGS).map((name) => `'${name}'`)}]) AS name`

type Variable = Readonly<Record<'name' | 'account' | 'database', string>> & {
  /** Null if the server does not know it. */
  readonly value: string | null
  readonly process: number
}

/**
 * Sets nothing through a pooler: SET would change the connection of somebody else.
 * @param process the process id of the server, as the connection was told. A pooler tells a number of its own.
 */
export async function settleConnection(client: pg.Client, process: number): Promise<void> {
  let rows: readonly Variable[] = []
  const isPooled = () => rows[0]?.process !== process
  await applySettings(SETTINGS, {
    async read() {
      rows = (await client.query<Variable>(READ)).rows
      return new Map(rows.flatMap(({ name, value }) => (value === null ? [] : [[name, value]])))
    },
    async set(settings) {
      if (!isPooled()) await client.query(settings.map(assignment).join('; '))
    },
    meaningOf,
    advice(setting) {
      if (!isPooled()) return ''
      const [account, database] = [rows[0]?.account, rows[0]?.database].map((name) =>
        escapeIdentifier(`${name}`),
      )
      const statement = `ALTER ROLE ${account} IN DATABASE ${database} ${assignment(setting)};`
      return `, and cannot be set through a pooler. Run this, and have the pooler connect again: ${statement}`
    },
  })
}

const assignment = ([name, value]: Setting) => `SET ${name} = '${value}'`
