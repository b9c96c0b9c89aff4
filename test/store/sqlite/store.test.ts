import { storeContract } from '../contract.ts'
import { newFile, openFile } from './file.ts'

storeContract('SQLite', async () => {
  const file = newFile()
  return { open: () => openFile(file.path), remove: file[Symbol.dispose] }
})
