// The command that writes the report anew from `results.json`, without measuring: node src/report/render.ts [DIRECTORY]
import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Results } from '../results.ts'
import { writeReport } from './write.ts'

const directory = resolve(process.argv[2] ?? join(import.meta.dirname, '../..'))
await writeReport(JSON.parse(readFileSync(join(directory, 'results.json'), 'utf8')) as Results, directory)
