/** Where a spreadsheet may see a formula: the service guards its files for spreadsheets in the same way. */
const UNGUARDED = /(?<=^|[;\t\r\n])(?='*[=+\-@\t\r\n＝＋－＠])/g

/** A CSV file for spreadsheets, which know its encoding by the mark at its beginning. @param {readonly (readonly (string | number)[])[]} rows */
export function csvOf(rows) {
  const lines = rows.map((cells) =>
    cells.map((cell) => `"${String(cell).replace(UNGUARDED, "'").replaceAll('"', '""')}"`).join(','),
  )
  return new Blob(['\ufeff', ...lines.map((line) => `${line}\r\n`)], { type: 'text/csv' })
}
