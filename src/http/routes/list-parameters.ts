import type { FastifyReply, FastifyRequest } from 'fastify'
import { clientOf } from '../../auth/login-throttle.ts'
import { EXAMPLE } from '../../catalogue/book.ts'
import { partialSchema, type Schema } from '../../catalogue/json-schema.ts'
import {
  type BookFilter,
  type BookQuery,
  BY_ID,
  type Position,
  SORT_NAMES,
  type SortField,
  type SortName,
} from '../../catalogue/query.ts'
import { searchedWords } from '../../catalogue/search-words.js'
import { wordsOfKey } from '../../catalogue/sort-key.ts'
import type { QueryOptions } from '../../catalogue/store.ts'
import type { Cursors } from '../page-cursor.ts'
import { invalid, orInvalid, queryStringOf, readQueryParameters } from '../query-string.ts'

export interface ListRequest {
  readonly query: BookQuery
  /** The position after which the page begins; undefined for the first page. */
  readonly after: Position | undefined
  /** Undefined for all books. */
  readonly limit: number | undefined
  /** Whether the response has X-Total-Count. */
  readonly count: boolean
  readonly spreadsheet: boolean
}

/** The most words that a search may have. Each costs a look-up. */
const MAX_WORDS = 32

/** Replaces a search for punctuation or emoji alone, which has to find nothing: no book has this word. */
const NO_WORD = '\u{10FFFF}'

const SORT_FIELD = `-?(${SORT_NAMES.join('|')})`

const year = (example: number, description: string): Schema => ({
  type: 'integer',
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
  examples: [example],
  description,
})

interface FilterValues {
  readonly q: string
  readonly title: string
  readonly author: string
  readonly year: number
  readonly year_min: number
  readonly year_max: number
}

/** Validates the query parameters of a filter, and describes them in the OpenAPI document. */
export const FilterParameters = partialSchema<FilterValues>({
  q: {
    type: 'string',
    examples: ['garcia marquez'],
    description:
      'Search words, such as `garcia marquez`. Each must be the beginning of a word in the title or the author. Case, ' +
      'accents and punctuation are ignored. A text without words finds nothing. Unless `sort` is given, books with ' +
      'exactly this title come first, then those with all words in the title.',
  },
  title: { type: 'string', examples: [EXAMPLE.title], description: 'The exact title.' },
  author: { type: 'string', examples: [EXAMPLE.author], description: 'The exact author.' },
  year: year(EXAMPLE.year, 'The exact year.'),
  year_min: year(1900, 'The first year of a range.'),
  year_max: year(1999, 'The last year of a range.'),
})

interface ListValues extends FilterValues {
  readonly limit: number
  readonly after: string
  readonly count: boolean
  readonly sort: string
  readonly spreadsheet: boolean
}

export const ListParameters = partialSchema<ListValues>({
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: 1000,
    examples: [20],
    description:
      'The maximum number of books on a page. The `Link` header of the response leads to the next page, if there is one.',
  },
  after: { type: 'string', description: 'The position where the page begins, from a `Link` header.' },
  count: {
    type: 'boolean',
    description: 'Adds the header `X-Total-Count` with the number of books on all pages.',
  },
  sort: {
    type: 'string',
    pattern: `^${SORT_FIELD}(,${SORT_FIELD})*$`,
    examples: ['year,-title'],
    description:
      'The fields to sort by, such as `year,-title`, each at most once. A `-` before a field reverses its order. Books that are equal in all ' +
      'of them are sorted by id. Texts are compared without case, accents, punctuation and the articles of titles, and with numbers by their value. If they are equal then, the texts themselves decide.',
  },
  spreadsheet: {
    type: 'boolean',
    description:
      'Adapts the CSV file to spreadsheets: it begins with a byte order mark, and each formula with an apostrophe. ' +
      'The request has to accept `text/csv`.',
  },
  ...FilterParameters.properties,
})

/**
 * @returns undefined for a request without a query string, which asks for all books.
 * @throws failure.invalidQueryParameter
 */
export function readListRequest(request: FastifyRequest, cursors: Cursors): ListRequest | undefined {
  if (queryStringOf(request.originalUrl) === '') return undefined
  const parameters = readQueryParameters(request, ListParameters)
  const { limit, after, count = false, sort, spreadsheet = false, ...values } = parameters
  const filter = filterOf(values)
  const unsorted = filter.words === undefined ? BY_ID : 'relevance'
  const order = sort === undefined ? unsorted : parseSort(sort)
  const query: BookQuery = {
    filter,
    order,
    ...(order === 'relevance' && { searchedTitle: wordsOfKey('title', values.q ?? '') }),
  }
  const position =
    after === undefined
      ? undefined
      : orInvalid(
          cursors.read(after, query),
          'after must be the cursor of a Link field, with the same sort and q',
        )
  if (position === 'outdated')
    throw invalid('after is a cursor of an earlier version, which sorted differently; begin again without it')
  return { query, after: position, limit, count, spreadsheet }
}

/** @throws failure.invalidQueryParameter */
export function readFilterRequest(request: FastifyRequest): BookFilter {
  return filterOf(readQueryParameters(request, FilterParameters))
}

/** Says in the response if the search index, and therefore the result, may lack the latest writes. */
export function queryOptions(request: FastifyRequest, reply: FastifyReply): QueryOptions {
  return {
    signal: request.signal,
    client: clientOf(request.ip),
    onIncomplete: () => reply.header('x-search-index', 'incomplete'),
  }
}

function filterOf({ q, title, author, year, year_min, year_max }: Partial<FilterValues>): BookFilter {
  return {
    ...(title !== undefined && { title }),
    ...(author !== undefined && { author }),
    ...(year !== undefined && { year }),
    ...(year_min !== undefined && { yearMin: year_min }),
    ...(year_max !== undefined && { yearMax: year_max }),
    ...(q !== undefined && { words: parseWords(q) }),
  }
}

/** Ends the order with `id`, and adds it if it is missing: ids are unique, so a later field would decide nothing. */
function parseSort(text: string): readonly SortField[] {
  const fields = text.split(',').map((part) => {
    const descending = part.startsWith('-')
    // The pattern in the schema admits no other name.
    const name = (descending ? part.slice(1) : part) as SortName
    return { name, descending }
  })
  if (new Set(fields.map(({ name }) => name)).size < fields.length) throw invalid('sort names a field twice')
  const id = fields.findIndex(({ name }) => name === 'id')
  return id === -1 ? [...fields, ...BY_ID] : fields.slice(0, id + 1)
}

function parseWords(text: string): readonly string[] {
  const words = searchedWords(text)
  if (text.trim() === '') throw invalid('q must not be empty')
  if (words.length > MAX_WORDS) throw invalid(`q must have at most ${MAX_WORDS} words`)
  return words.length === 0 ? [NO_WORD] : words
}
