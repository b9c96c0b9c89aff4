/** How much of a file is read to show how it begins, in bytes; and how many of its rows, with the first line. */
const [START, ROWS] = [64 * 1024, 6]

/** What may separate fields, as for the service. */
const DELIMITERS = [',', ';', '\t']

/** Where a spreadsheet may see a formula: the service guards its files for spreadsheets in the same way. */
const UNGUARDED = /(?<=^|[;\t\r\n])(?='*[=+\-@\t\r\n＝＋－＠])/g

/**
 * The first rows of a CSV file.
 * @param {File} file @param {string} encoding that of a file which does not tell it itself.
 * @returns {Promise<string[][]>} the cells of the first line, then those of up to five rows.
 */
export async function firstRows(file, encoding) {
  const bytes = new Uint8Array(await file.slice(0, START).arrayBuffer())
  // The rest of a character that is cut is left out.
  const text = new TextDecoder(tellEncoding(bytes) ?? encoding).decode(bytes, { stream: true })
  const [, before = '', first = ''] = /^([\r\n]*)([^\r\n]*)/.exec(text) ?? []
  const declared = /^"?sep=(.)"?$/i.exec(first)?.[1]
  const rows = rowsOf(
    declared === undefined ? text : text.slice(before.length + first.length),
    declared ?? mostOf(first),
  )
  // The last one may be cut too.
  return rows.slice(0, file.size > START && rows.length > 1 ? Math.min(ROWS, rows.length - 1) : ROWS)
}

/** @param {Uint8Array} bytes */
function tellEncoding([first, second, third]) {
  if (first === 0xef && second === 0xbb && third === 0xbf) return 'utf-8'
  if ((first === 0xff && second === 0xfe) || second === 0) return 'utf-16le'
  return (first === 0xfe && second === 0xff) || first === 0 ? 'utf-16be' : undefined
}

/** The delimiter of which a line has most outside quotes. @param {string} line */
function mostOf(line) {
  const names = line.replaceAll(/"[^"]*"/g, '')
  const count = (/** @type {string} */ delimiter) => names.split(delimiter).length
  return DELIMITERS.reduce((best, each) => (count(each) > count(best) ? each : best))
}

/** @param {string} text @param {string} delimiter */
function rowsOf(text, delimiter) {
  const separator = delimiter.replace(/\W/, '\\$&')
  const cell = new RegExp(
    `(?:"((?:[^"]|"")*)"?[^\\S\\r\\n${separator}]*|([^${separator}\\r\\n]*))(${separator}|\\r\\n?|\\n|$)`,
    'y',
  )
  /** @type {string[][]} */
  const rows = []
  /** @type {string[]} */
  let row = []
  while (cell.lastIndex < text.length && rows.length <= ROWS) {
    const match = cell.exec(text)
    // A quote in the wrong place: the service tells where.
    if (match === null) break
    const [, quoted, plain = '', end] = match
    row.push(quoted?.replaceAll('""', '"') ?? plain)
    if (end === delimiter) continue
    // An empty row is none.
    if (row.some((cell) => cell.trim() !== '')) rows.push(row)
    row = []
  }
  if (row.length > 0) rows.push(row)
  return rows
}

/** A CSV file for spreadsheets, which know its encoding by the mark at its beginning. @param {readonly (readonly (string | number)[])[]} rows */
export function csvOf(rows) {
  const lines = rows.map((cells) =>
    cells.map((cell) => `"${String(cell).replace(UNGUARDED, "'").replaceAll('"', '""')}"`).join(','),
  )
  return new Blob(['\ufeff', ...lines.map((line) => `${line}\r\n`)], { type: 'text/csv' })
}
