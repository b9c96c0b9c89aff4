/** Where a spreadsheet may see a formula: an apostrophe prevents it there, as in src/files/write-books.ts. */
const UNGUARDED = /(?<=^|[;\t\r\n])(?='*[=+\-@\t\r\n＝＋－＠])/g

/**
 * A CSV file for spreadsheets, which recognise UTF-8 by the byte order mark at its beginning.
 * @param {readonly (readonly (string | number)[])[]} rows
 */
export function csvOf(rows) {
  const lines = rows.map((cells) =>
    cells.map((cell) => `"${String(cell).replace(UNGUARDED, "'").replaceAll('"', '""')}"`).join(','),
  )
  return new Blob(['\ufeff', ...lines.map((line) => `${line}\r\n`)], { type: 'text/csv' })
}
