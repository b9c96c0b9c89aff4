import assert from 'node:assert/strict'
import { it } from 'node:test'
import pg from 'pg'
import * as mysql from '../../../src/store/mysql/errors.ts'
import * as postgres from '../../../src/store/postgres/errors.ts'

/** Codes of errors after which a database cannot be used now, by the reason. */
const POSTGRES = {
  connection: ['08006', '53300', '57P01', '57P03'],
  timeout: ['57014'],
  conflict: ['40001', '40P01', '55P03'],
  read_only: ['25006'],
  disk: ['53100', '58030'],
  other: ['53200', '53400'],
}
const MYSQL = {
  connection: [1040, 1053, 1129, 1203, 1927],
  timeout: [1317, 1969, 3024],
  conflict: [1205, 1213],
  read_only: [1036, 1290, 1792, 1836],
  disk: [1021, 1114],
  other: [1037, 9005],
}

it('the reason of an error of PostgreSQL', () => {
  for (const [reason, codes] of Object.entries(POSTGRES)) {
    for (const code of codes) {
      const error = Object.assign(new pg.DatabaseError('', 0, 'error'), { code })
      assert.deepEqual([postgres.isUnavailable(error), postgres.reasonOf(error)], [true, reason], code)
    }
  }
  assert.equal(postgres.reasonOf(new Error('Connection terminated')), 'connection')
})

it('the reason of an error of MySQL', () => {
  for (const [reason, numbers] of Object.entries(MYSQL)) {
    for (const errno of numbers) {
      const error = Object.assign(new Error(), { errno, sqlState: 'HY000' })
      assert.deepEqual([mysql.isUnavailable(error), mysql.reasonOf(error)], [true, reason], String(errno))
    }
  }
  assert.equal(mysql.reasonOf(new Error('Connection lost')), 'connection')
})
