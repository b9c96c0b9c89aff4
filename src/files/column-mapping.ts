import { FIELD_NAMES, type FieldName, isNullable } from '../catalogue/book.ts'
import { EXAMPLE_NAMES } from './column-names.ts'

/** The columns of a CSV file that hold the fields. An empty name means that the file has no such column. */
export type ColumnMapping = { readonly [Name in FieldName]?: string }

/** A name in quotation marks, or one without commas that does not begin with a quotation mark. */
const NAME = '"(?:[^"]|"")+"|[^",][^,]*'
const MAY_LACK = FIELD_NAMES.filter((name) => name === 'year' || isNullable(name))
const ITEM = `(?:(${FIELD_NAMES.join('|')})=(${NAME})|(${MAY_LACK.join('|')})=)`

/** Matches what `parseColumns()` accepts, and also texts that name a field twice. */
export const COLUMNS_PATTERN = `^${ITEM}(?:,${ITEM})*$`

export const COLUMNS_EXAMPLE = FIELD_NAMES.map((field) => `${field}=${EXAMPLE_NAMES[field]}`).join(',')

/**
 * @param text such as `title=Titel,author="Name, Vorname"`. Quotation marks in quoted names are doubled. `year=` says
 * that the file has no years.
 * @returns undefined if the text is malformed or names a field twice.
 */
export function parseColumns(text: string): ColumnMapping | undefined {
  if (!new RegExp(COLUMNS_PATTERN, 'u').test(text)) return undefined
  const items = Array.from(text.matchAll(new RegExp(ITEM, 'gu')), ([, field, name = '', lacking]) => [
    field ?? lacking,
    name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name,
  ])
  const columns: ColumnMapping = Object.fromEntries(items)
  return Object.keys(columns).length === items.length ? columns : undefined
}
