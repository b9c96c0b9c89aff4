import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

// What `npm test` tries in one case only: see `cases`.
process.env.PAGE_CASES = 'all'
for (const file of globSync('*.test.ts', { cwd: import.meta.dirname }))
  if (/\bcases\(/.test(readFileSync(join(import.meta.dirname, file), 'utf8'))) await import(`./${file}`)
