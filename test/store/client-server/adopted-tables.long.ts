import { describe } from 'node:test'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { booksContract } from '../contract.ts'
import { queryContract } from '../contract-query.ts'
import { openNewDatabase } from '../new-database.ts'
import { GORM, restrict } from './tables-of-others.ts'

for (const engine of ['postgres', 'mysql'] as const)
  describe(`the table of GORM, on ${engine}`, { skip: engineMissing(engine) }, () => {
    const databases = useDatabases(engine)
    describe('holds every book', () => {
      booksContract(async () => openNewDatabase(await databases(), () => [GORM[engine]]))
    })
    describe('for an account that may not change it', () => {
      const open = async () =>
        openNewDatabase(await databases(), (name) => [GORM[engine], ...restrict(engine, name)])
      booksContract(open)
      queryContract(open, { isIndexed: false })
    })
  })
