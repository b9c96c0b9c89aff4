/** Formats in which books are written, by their names on the command line. */
export const FORMATS = ['csv', 'ndjson'] as const
export type Format = (typeof FORMATS)[number]

export const READ_FORMATS = [...FORMATS, 'json'] as const
export type ReadFormat = (typeof READ_FORMATS)[number]

/** CSV with a header line: RFC 7111 and RFC 4180 §3. NDJSON has no registered type. */
export const MEDIA_TYPES = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  json: 'application/json',
} as const satisfies Record<ReadFormat, string>

export function formatOfName(name: string): ReadFormat | undefined {
  if (/\.(csv|tsv|txt)$/i.test(name)) return 'csv'
  if (/\.json$/i.test(name)) return 'json'
  return /\.(ndjson|jsonl)$/i.test(name) ? 'ndjson' : undefined
}
