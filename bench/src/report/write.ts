import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Results } from '../results.ts'
import { markdown } from './markdown.ts'
import { plots } from './plots.ts'
import { svg } from './svg.ts'

/** Writes RESULTS.md, its plots, and the figures as they were measured. */
export async function writeReport(results: Results, output: string): Promise<void> {
  const drawn = plots(results)
  await mkdir(join(output, 'plots'), { recursive: true })
  for (const { file, spec, title } of drawn)
    await writeFile(join(output, 'plots', file), await svg(spec, title))
  await writeFile(join(output, 'results.json'), `${JSON.stringify(results, undefined, 1)}\n`)
  await writeFile(join(output, 'RESULTS.md'), markdown(results, drawn))
}
