import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { RowDataPacket } from 'mysql2/promise'
import { MysqlDriver } from '../../../src/store/mysql/driver.ts'
import { parseMysqlUrl } from '../../../src/store/mysql/url.ts'
import { engineMissing, useDatabases } from '../../support/engines.ts'

const skip = engineMissing('mysql')
const databases = useDatabases('mysql')

it('a node of Galera does no statement again by itself: its books would get other ids', {
  skip,
}, async () => {
  const driver = new MysqlDriver(parseMysqlUrl(await (await databases()).createDatabase()))
  const connection = await driver.connect()
  const [rows] = await connection.query<RowDataPacket[]>('SELECT @@session.wsrep_retry_autocommit AS times')
  await driver.end(connection)
  assert.equal(rows[0]?.times, 0)
})
