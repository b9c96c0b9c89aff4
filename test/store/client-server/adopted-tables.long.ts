import { describe } from 'node:test'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { booksContract } from '../contract.ts'
import { expectedContract } from '../contract-expected.ts'
import { listContract } from '../contract-list.ts'
import { queryContract } from '../contract-query.ts'
import { textContract } from '../contract-text.ts'
import { openNewDatabase } from '../new-database.ts'
import { give, restrict, TABLES } from './tables-of-others.ts'

for (const engine of ['postgres', 'mysql'] as const) {
  describe(`a table of books that was there before, on ${engine}`, { skip: engineMissing(engine) }, () => {
    const databases = useDatabases(engine)
    const { suiting } = TABLES[engine]
    const gorm = suiting['as GORM makes it'] ?? ''
    describe('holds every text and year, as GORM makes it', () => {
      textContract(async () => openNewDatabase(await databases(), () => [gorm]))
    })
    describe('answers queries, as GORM makes it', () => {
      queryContract(async () => openNewDatabase(await databases(), (name) => [gorm, ...give(engine, name)]))
    })
    describe('for an account that may not change it', () => {
      const open = async () => openNewDatabase(await databases(), (name) => [gorm, ...restrict(engine, name)])
      booksContract(open)
      listContract(open)
      expectedContract(open)
      queryContract(open, { isIndexed: false })
    })
    describe('is compared with what is expected, in a collation that takes letters for equal', () => {
      const table = suiting['in a collation that takes letters for equal'] ?? ''
      expectedContract(async () => openNewDatabase(await databases(), () => [table]))
    })
  })
}
