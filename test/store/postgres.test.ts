import { describe } from 'node:test'
import { engineMissing, useDatabases } from '../support/engines.ts'
import { storeContract } from './contract.ts'
import { openNewDatabase } from './new-database.ts'

describe('PostgreSQL', { skip: engineMissing('postgres') }, () => {
  const databases = useDatabases('postgres')
  storeContract('PostgreSQL', async () => openNewDatabase(await databases()))
})
