import { storeContract } from '../contract.ts'
import { openNewFile } from './file.ts'

storeContract('SQLite', openNewFile)
