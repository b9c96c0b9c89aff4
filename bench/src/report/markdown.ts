import type { Results } from '../results.ts'
import { number, table } from './format.ts'
import { headlines } from './headlines.ts'
import type { Plot } from './plot-style.ts'
import { contenderTable, growthTable, loadTables, processTable } from './tables.ts'

/** RESULTS.md. @param plots those that were drawn. */
export function markdown(results: Results, plots: readonly Plot[]): string {
  const { machine, version, command, begun, duration } = results
  const sections = [
    `# Results

Written by \`${command}\` on ${begun.slice(0, 10)}, in ${number(duration / 60)} minutes, of version ${version}. [README.md](README.md) says what is measured and how; \`results.json\` has every figure of every round.

${isBusy(results) ? `**The machine may have had other work**: in the minute before the run, its load was ${number(machine.load)}.\n\n` : ''}${table(
  ['machine', ''],
  [
    ['processor', `${machine.cores} × ${machine.cpu}`],
    ['memory', `${number(machine.memory / 2 ** 30)} GiB`],
    ['system', machine.system],
    [
      'disk',
      `${machine.fileSystem}; 4 KiB written and synchronised in ${number(machine.syncTime)} ms (median)`,
    ],
  ],
)}`,
    `## In short

Medians over the rounds, with minimum and maximum in parentheses; at 64 connections unless it says otherwise.

${table(
  ['', 'aim', 'measured'],
  headlines(results).map((row) => [...row]),
)}`,
    ...plots.map(({ file, title }) => `![${title}](plots/${file})`),
    section('Contenders', contenderTable(results)),
    section(
      'Requests',
      `On a catalogue of 10,000 books. “÷ this” is the figure divided by that of this service in the same round, on the same engine. “CPU” is the server’s per request, user and system; “server CPU” that of the database server. \\* may lose writes that were answered. “≥”: the generator was busy, and so may have been the limit.

${loadTables(results, 'requests')}`,
    ),
    section('Lists', loadTables(results, 'list')),
    section(
      'Growth',
      `One round. The table has GET one with 64 connections, and the list with one.\n\n${growthTable(results)}`,
    ),
    section(
      'Start and memory',
      `From the start of the process on an existing database of 10,000 books to its first answer; resident memory a second later; and the most that it had, with the requests above and with the lists.

${processTable(results)}`,
    ),
    failures(results),
  ]
  return `${sections.filter((text) => text !== '').join('\n\n')}\n`
}

/** Whether other work is likely to have disturbed the figures. */
function isBusy({ machine }: Results): boolean {
  return machine.load > machine.cores / 2
}

function section(title: string, text: string): string {
  return text === '' ? '' : `## ${title}\n\n${text}`
}

/** What did not work, so that nothing is left out silently. */
function failures({ failed, runs }: Results): string {
  const lines = [
    ...failed.map(({ contender, round, purpose, books, reason }) => {
      return `- ${contender}, round ${round}, ${purpose}, ${number(books)} books: ${oneLine(reason)}`
    }),
    ...runs.flatMap(({ contender, round, workload, connections, books, failure }) => {
      if (failure === undefined) return []
      return [
        `- ${contender}, round ${round}, ${workload} × ${connections}, ${number(books)} books: ${failure}`,
      ]
    }),
  ]
  if (lines.length === 0)
    return section('What failed', 'Nothing: every answer was right, and every run counts.')
  return section('What failed', `These do not count.\n\n${lines.join('\n')}`)
}

function oneLine(text: string): string {
  return `\`${text.replaceAll(/\s+/g, ' ').slice(0, 300)}\``
}
