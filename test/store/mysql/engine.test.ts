import { describe } from 'node:test'
import { engineMissing, useDatabases } from '../../support/engines.ts'
import { storeContract } from '../contract.ts'
import { openNewDatabase } from '../new-database.ts'

describe('MariaDB', { skip: engineMissing('mysql') }, () => {
  const databases = useDatabases('mysql')
  storeContract('MariaDB', async () => openNewDatabase(await databases()))
})
