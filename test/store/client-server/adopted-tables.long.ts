import { describe } from 'node:test'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { booksContract } from '../contract.ts'
import { queryContract } from '../contract-query.ts'
import { openNewDatabase } from '../new-database.ts'
import { restrict, TABLES } from './tables-of-others.ts'

for (const engine of ['postgres', 'mysql'] as const) {
  describe(`a table of books that was there before, on ${engine}`, { skip: engineMissing(engine) }, () => {
    const databases = useDatabases(engine)
    const { suiting } = TABLES[engine]
    const gorm = suiting['as GORM makes it'] ?? ''
    describe('holds every text and year, as GORM makes it', () => {
      booksContract(async () => openNewDatabase(await databases(), () => [gorm]))
    })
    describe('for an account that may not change it', () => {
      const open = async () => openNewDatabase(await databases(), (name) => [gorm, ...restrict(engine, name)])
      booksContract(open)
      queryContract(open, { isIndexed: false })
    })
  })
}
