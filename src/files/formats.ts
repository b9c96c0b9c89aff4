/** File formats of books, by their names on the command line. */
export const FORMATS = ['csv', 'ndjson'] as const
export type Format = (typeof FORMATS)[number]

/** For CSV with a header line, see RFC 7111 and RFC 4180 §3. NDJSON has no registration. */
export const MEDIA_TYPES = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
} as const satisfies Record<Format, string>

/** @returns the format by the extension of a file name, if it is known. */
export function formatOfName(name: string): Format | undefined {
  if (/\.(csv|tsv|txt)$/i.test(name)) return 'csv'
  return /\.(ndjson|jsonl)$/i.test(name) ? 'ndjson' : undefined
}
