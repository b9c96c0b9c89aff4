/** Prints rows, which all have the same columns, as a table in Markdown. */
export function printTable(rows: readonly Record<string, string | number>[]): void {
  const [first] = rows
  if (first === undefined) return
  const lines = [Object.keys(first), Object.keys(first).map(() => '-'), ...rows.map(Object.values)]
  process.stdout.write(`\n${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n\n`)
}
