import type { NewBook } from '../../src/catalogue/book.ts'
import type { ReadFormat } from '../../src/files/formats.ts'
import { ImportRefused, ImportReport } from '../../src/files/import-report.ts'
import { type ReadOptions, readBooks } from '../../src/files/read-books.ts'

/** Reads a file that arrives in parts of so many bytes. */
export async function readFile(
  content: string | Uint8Array,
  format: ReadFormat,
  partLength = 64 * 1024,
  options: Omit<ReadOptions, 'format'> = {},
): Promise<{ books: NewBook[]; report: ImportReport; error: string | undefined }> {
  const report = new ImportReport()
  const books: NewBook[] = []
  try {
    for await (const group of readBooks(
      parts(Buffer.from(content), partLength),
      { format, ...options },
      report,
    )) {
      books.push(...group)
    }
    return { books, report, error: undefined }
  } catch (error) {
    if (!(error instanceof ImportRefused)) throw error
    return { books, report, error: error.worded((value) => `columns=${value}`) }
  }
}

async function* parts(bytes: Buffer, length: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += length) yield bytes.subarray(start, start + length)
}
