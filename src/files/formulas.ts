/** How a spreadsheet tells a formula (OWASP, CSV Injection), after apostrophes that may be there already. */
const FORMULA = "'*[=+\\-@\\t\\r\\n＝＋－＠]"

/** Where a cell may begin: also within a text, because many spreadsheets separate cells by semicolons. */
const BEGIN = '(?<=^|[;\\t\\r\\n])'

const UNGUARDED = new RegExp(`${BEGIN}(?=${FORMULA})`, 'g')
const GUARDED = new RegExp(`${BEGIN}'(?=${FORMULA})`, 'g')

/** The column of ids in a file for spreadsheets. By its name an import knows that formulas are guarded. */
export const ID_COLUMN = 'book-catalogue id'

/** Puts an apostrophe before each formula, so that a spreadsheet takes it for text. */
export const guarded = (text: string) => text.replace(UNGUARDED, "'")

/** The text that was guarded. */
export const unguarded = (text: string) => text.replace(GUARDED, '')
