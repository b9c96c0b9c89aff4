import assert from 'node:assert/strict'
import { it } from 'node:test'
import pg from 'pg'
import { type ErrorMeaning, type FailureOutcome, isUndone } from '../../../src/store/client-server/errors.ts'
import * as mysql from '../../../src/store/mysql/errors.ts'
import { commit } from '../../../src/store/postgres/driver.ts'
import * as postgres from '../../../src/store/postgres/errors.ts'

/** Codes of errors after which a database cannot be used now, by the reason. */
const POSTGRES = {
  connection: ['08006', '53300', '57P01', '57P03'],
  timeout: ['57014'],
  conflict: ['40001', '40P01', '55P03'],
  read_only: ['25006', '42501'],
  disk: ['53100', '58030'],
  other: ['53200', '53400'],
}
const MYSQL = {
  connection: [1040, 1053, 1129, 1203, 1927],
  timeout: [1317, 1969, 3024],
  conflict: [1205, 1213],
  read_only: [1036, 1044, 1142, 1143, 1290, 1792, 1836],
  disk: [1021, 1114],
  other: [1037, 9005],
}

const postgresError = (code: string) => Object.assign(new pg.DatabaseError('', 0, 'error'), { code })
const mysqlError = (errno: number) => Object.assign(new Error(), { errno, sqlState: 'HY000' })

type MeaningOf = (error: unknown) => ErrorMeaning

it('the reason of an error of PostgreSQL', () => {
  for (const [reason, codes] of Object.entries(POSTGRES))
    for (const code of codes) assert.equal(postgres.meaningOf(postgresError(code)).reason, reason, code)
})

it('the reason of an error of MySQL', () => {
  for (const [reason, numbers] of Object.entries(MYSQL))
    for (const number of numbers)
      assert.equal(mysql.meaningOf(mysqlError(number)).reason, reason, String(number))
})

const OUTCOMES: Readonly<Record<FailureOutcome, { postgres: readonly string[]; mysql: readonly number[] }>> =
  {
    refused: {
      postgres: ['23505', '53100', '53300', '55P03', '57014', '25P03', '42501', '42P01'],
      mysql: [1062, 1205, 1036, 1040, 1114, 1142, 1143, 1146],
    },
    conflict: { postgres: ['40001', '40P01'], mysql: [1213] },
    late: { postgres: ['2201F'], mysql: [] },
    moved: { postgres: ['25006', '57P01', '57P03'], mysql: [1047, 1290, 1792, 1836] },
    lost: { postgres: ['08006', '08P01', '57P02', '57P05', '25P04'], mysql: [1053, 1927, 4031] },
    // What a write did is not known; a read may go wrong in the same way again.
    unknown: { postgres: ['40003', 'XX000', '58030'], mysql: [1105, 1180, 1317, 1030, 9005] },
  }

it('an error tells what became of the work', () => {
  for (const [expected, { postgres: codes, mysql: numbers }] of Object.entries(OUTCOMES)) {
    for (const code of codes) assert.equal(postgres.meaningOf(postgresError(code)).outcome, expected, code)
    for (const number of numbers)
      assert.equal(mysql.meaningOf(mysqlError(number)).outcome, expected, String(number))
    const isUnsure = expected === 'lost' || expected === 'unknown'
    assert.equal(isUndone({ outcome: expected as FailureOutcome }), !isUnsure)
  }
  for (const { meaningOf } of [postgres, mysql] as readonly { meaningOf: MeaningOf }[]) {
    const { outcome, reason } = meaningOf(new Error('Connection terminated'))
    assert.deepEqual({ outcome, reason }, { outcome: 'lost', reason: 'connection' })
    assert.deepEqual(meaningOf(new TypeError('x is not a function')), { outcome: 'unknown' })
  }
})

it('an error tells whether a start waits for the server, and one of several hosts if any does', () => {
  const ofPostgres = (code: string) => [postgres.meaningOf, postgresError(code)] as const
  const ofMysql = (number: number) => [mysql.meaningOf, mysqlError(number)] as const
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })
  for (const [isNotReady, errors] of [
    [true, ['57P03', '53300', '08006', 'XX000'].map(ofPostgres)],
    [false, ['28P01', '3D000', '42501'].map(ofPostgres)],
    [true, [1040, 1047, 1053, 1105, 1129, 1130, 1203].map(ofMysql)],
    [false, [1045, 1049, 1142].map(ofMysql)],
  ] as const)
    for (const [meaningOf, error] of errors) {
      assert.equal(meaningOf(error).isNotReady === true, isNotReady, String(Object.values(error)))
      const several = (...errors: Error[]) => meaningOf(new AggregateError(errors)).isNotReady === true
      assert.equal(several(error, error), isNotReady)
      assert.equal(several(error, refused), true)
    }
})

it('an error of a commit of PostgreSQL leaves it unknown what was stored, except where it is certain', async () => {
  const committing = (error: Error) => commit({ query: () => Promise.reject(error) } as unknown as pg.Client)
  for (const code of ['57P01', '57014', '53100', 'XX000', '08006']) {
    await assert.rejects(committing(postgresError(code)), (error) => {
      const { outcome, reason } = postgres.meaningOf(error)
      return outcome === 'lost' && reason === 'connection'
    })
  }
  for (const code of ['40001', '40P01', '25P03', '23505'])
    await assert.rejects(committing(postgresError(code)), (error) => isUndone(postgres.meaningOf(error)))
})
