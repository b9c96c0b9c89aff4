/** The formats of files with books, by the names that they have on a command line. */
export const FORMATS = ['csv', 'ndjson'] as const
export type Format = (typeof FORMATS)[number]

/** Of CSV with a header line, see RFC 7111 and RFC 4180 §3; the other has no registration. */
export const MEDIA_TYPES = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
} as const satisfies Record<Format, string>

/** @returns the format that the name of a file ends with, if it is one of ours. */
export function formatOfName(name: string): Format | undefined {
  if (/\.(csv|tsv|txt)$/i.test(name)) return 'csv'
  return /\.(ndjson|jsonl)$/i.test(name) ? 'ndjson' : undefined
}
