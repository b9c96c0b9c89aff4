import type { Connection, RowDataPacket } from 'mysql2/promise'
import { StoreNotOpened } from '../catalogue/store.ts'
import { type Column, ensureTable } from './client-server/ensure-schema.ts'
import { codeOf } from './client-server/network-errors.ts'

/** MEDIUMTEXT holds what a request may carry, which TEXT with its 64 KiB does not. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS books (
    id     BIGINT     NOT NULL AUTO_INCREMENT PRIMARY KEY,
    title  MEDIUMTEXT NOT NULL,
    author MEDIUMTEXT NOT NULL,
    year   BIGINT     NOT NULL
  ) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`

const COLUMNS = `
  SELECT column_name AS name, extra LIKE '%auto_increment%' AS \`generated\`,
    is_nullable = 'NO' AND column_default IS NULL AND extra NOT REGEXP 'auto_increment|generated' AS required,
    CONCAT(data_type, IF(column_type LIKE '%unsigned%', ' unsigned', ''),
      COALESCE(CONCAT(' ', character_set_name), '')) AS type
  FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = 'books'`

const ENGINE = `
  SELECT engine FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'books'`

/** What a column may be, so that it holds all that a Book may have. */
const TEXTS = ['mediumtext utf8mb4', 'longtext utf8mb4']
const ACCEPTED = {
  id: ['bigint', 'int', 'bigint unsigned', 'int unsigned'],
  title: TEXTS,
  author: TEXTS,
  year: ['bigint'],
}

/** Storage engines that lose what they acknowledged. */
const NOT_DURABLE = ['myisam', 'memory', 'aria', 'csv']

/** @throws StoreNotOpened when the table does not suit; else what mysql2 throws. */
export async function ensureSchema(connection: Connection): Promise<void> {
  await ensureTable(ACCEPTED, {
    async columns() {
      const [rows] = await connection.query<(Column & RowDataPacket)[]>(COLUMNS)
      return rows
    },
    create: () => connection.query(SCHEMA),
    isLostRace: (error) => ['ER_TABLE_EXISTS_ERROR', 'ER_LOCK_DEADLOCK'].includes(codeOf(error) ?? ''),
  })
  const [rows] = await connection.query<RowDataPacket[]>(ENGINE)
  const engine = String(rows[0]?.engine)
  if (NOT_DURABLE.includes(engine.toLowerCase())) {
    throw new StoreNotOpened(
      `the table books is kept by ${engine}, which may lose writes; it has to be InnoDB`,
    )
  }
}
