import assert from 'node:assert/strict'
import { it } from 'node:test'
import pg from 'pg'
import { type ErrorMeaning, type FailureOutcome, isUndone } from '../../../src/store/client-server/errors.ts'
import * as mysql from '../../../src/store/mysql/errors.ts'
import { commit } from '../../../src/store/postgres/driver.ts'
import * as postgres from '../../../src/store/postgres/errors.ts'

const postgresError = (code: string) => Object.assign(new pg.DatabaseError('', 0, 'error'), { code })
const mysqlError = (errno: number) => Object.assign(new Error(), { errno, sqlState: 'HY000' })

/** Codes of PostgreSQL, which have five characters, and numbers of MySQL. */
const codes = (text: string) => text.split(' ').map((code) => (code.length === 5 ? code : Number(code)))

/** What errors mean: why the database cannot be used now, if so. */
const REASONS = {
  connection: codes(
    '08006 53300 57P01 57P02 57P03 57P05 1040 1047 1053 1077 1079 1080 1129 1203 1226 1927 4031',
  ),
  timeout: codes('2201F 25P03 25P04 57014 1317 1969 3024'),
  conflict: codes('40001 40003 40P01 55P03 1180 1205 1213'),
  read_only: codes('25006 42501 1036 1044 1142 1143 1290 1792 1836'),
  disk: codes('53100 58030 1021 1026 1030 1114 3675'),
  other: codes(
    '42703 42P01 53200 53400 1037 1038 1041 1049 1054 1135 1146 1176 9001 9002 9003 9004 9005 9006',
  ),
}

/** What became of the work. */
const OUTCOMES: Readonly<Record<FailureOutcome, readonly (string | number)[]>> = {
  refused: codes('23505 53100 55P03 57014 25P03 42501 1062 1205 1036 1040 1114 1142'),
  conflict: codes('40001 40P01 1213'),
  late: codes('2201F'),
  moved: codes('25006 57P01 57P03 1047 1290 1792 1836'),
  lost: codes('08006 08P01 57P02 57P05 25P04 1053 1927 4031'),
  // What a write did is not known; a read may go wrong in the same way again.
  unknown: codes('40003 XX000 58030 1105 1180 1317 1030 9005'),
}

const meaningOf = (code: string | number) =>
  typeof code === 'string' ? postgres.meaningOf(postgresError(code)) : mysql.meaningOf(mysqlError(code))

it('an error tells why the database cannot be used now, and what became of the work', () => {
  for (const [reason, codes] of Object.entries(REASONS))
    for (const code of codes) assert.equal(meaningOf(code).reason, reason, `${code}`)
  for (const [outcome, codes] of Object.entries(OUTCOMES)) {
    for (const code of codes) assert.equal(meaningOf(code).outcome, outcome, `${code}`)
    const isUnsure = outcome === 'lost' || outcome === 'unknown'
    assert.equal(isUndone({ outcome: outcome as FailureOutcome }), !isUnsure)
  }
  for (const code of ['42601', '0A000', 1064, 1235]) assert.equal(meaningOf(code).isUnknownSyntax, true)
  for (const code of ['42703', 1054]) assert.equal(meaningOf(code).isUnknownSyntax, undefined)
  for (const { meaningOf } of [postgres, mysql] as readonly { meaningOf(error: unknown): ErrorMeaning }[]) {
    const { outcome, reason } = meaningOf(new Error('Connection terminated'))
    assert.deepEqual({ outcome, reason }, { outcome: 'lost', reason: 'connection' })
    assert.deepEqual(meaningOf(new TypeError('x is not a function')), { outcome: 'unknown' })
  }
})

it('an error tells whether a start waits for the server, and one of several hosts if any does', () => {
  const refused = Object.assign(new Error('connect ENOENT /run/s'), { code: 'ENOENT' })
  for (const [isNotReady, all] of [
    [true, codes('57P03 57014 53100 53200 53300 08006 XX000 1040 1047 1053 1105 1129 1130 1203')],
    [false, codes('28P01 3D000 42501 1045 1049 1142')],
  ] as const)
    for (const code of all) {
      assert.equal(meaningOf(code).isNotReady === true, isNotReady, `${code}`)
      const [of, error] =
        typeof code === 'string'
          ? [postgres.meaningOf, postgresError(code)]
          : [mysql.meaningOf, mysqlError(code)]
      assert.equal(of(new AggregateError([error, error])).isNotReady === true, isNotReady)
      assert.equal(of(new AggregateError([error, refused])).isNotReady, true)
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
