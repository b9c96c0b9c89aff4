import type { Book } from '../../catalogue/book.ts'
import { partialSchema, type Schema } from '../../catalogue/json-schema.ts'
import { type BookFilter, type BookQuery, BY_ID, type SortField } from '../../catalogue/query.ts'
import { searchedWords } from '../../catalogue/search-words.ts'
import { failure } from '../envelope.ts'
import type { Cursors, Place } from '../page-cursor.ts'
import { type Parameters, parseBoolean, parseQueryString, valid } from '../query-string.ts'

/** What a request for the list asks for. */
export interface ListRequest {
  readonly query: BookQuery
  /** Where the page begins; undefined for the first book. */
  readonly after: Place | undefined
  /** Undefined for all. */
  readonly limit: number | undefined
  /** Whether the number of all books that the filter lets through is wanted. */
  readonly count: boolean
}

const MAX_LIMIT = 1000

/** Words in a search; each costs a look-up. */
const MAX_WORDS = 32

const year = (description: string): Schema => ({
  type: 'integer',
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
  description,
})

/** The parameters of a filter, as the OpenAPI document describes them. */
export const FilterParameters = partialSchema({
  q: {
    type: 'string',
    description:
      'Words, each of which begins a word of the title or the author, whatever the case, accents and punctuation.',
    examples: ['garcia marquez'],
  },
  title: { type: 'string', description: 'The exact title.' },
  author: { type: 'string', description: 'The exact author.' },
  year: year('The exact year.'),
  year_min: year('The first year.'),
  year_max: year('The last year.'),
})

/** Those of the list. */
export const ListParameters = partialSchema({
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: MAX_LIMIT,
    description:
      'At most so many books. The `Link` header of the answer leads to the next page, if there is one.',
  },
  after: { type: 'string', description: 'Where the page begins, as a `Link` header gave it.' },
  count: {
    type: 'boolean',
    description: 'Whether `X-Total-Count` tells how many books there are on all pages.',
  },
  sort: {
    type: 'string',
    pattern: '^-?(id|title|author|year)(,-?(id|title|author|year))*$',
    description:
      'The fields that decide on the order, each once, with `-` for the highest first; in the end the id decides. ' +
      'Texts compare by code point.',
    examples: ['year,-title'],
  },
  ...FilterParameters.properties,
})

type FilterTexts = Parameters<keyof typeof FilterParameters.properties>

/**
 * Reads a query string.
 * @throws failure.invalidQueryParameter for anything that it does not know or cannot take as it stands.
 */
export function parseListRequest(queryString: string, cursors: Cursors): ListRequest {
  const { limit, after, count, ...selection } = parseQueryString(queryString, ListParameters.properties)
  const query = readQuery(selection)
  return {
    query,
    after: after === undefined ? undefined : valid(cursors.read(after, query)),
    limit: limit === undefined ? undefined : parseLimit(limit),
    count: count !== undefined && parseBoolean(count),
  }
}

/**
 * Reads a query string that has only what filters.
 * @throws failure.invalidQueryParameter
 */
export function parseFilter(queryString: string): BookFilter {
  return readFilter(parseQueryString(queryString, FilterParameters.properties))
}

/** @returns the query string of the next page. */
export function nextPage(queryString: string, cursor: string): string {
  const parameters = new URLSearchParams(queryString)
  parameters.set('after', cursor)
  return parameters.toString()
}

function readQuery({ sort, ...texts }: FilterTexts & Parameters<'sort'>): BookQuery {
  const filter = readFilter(texts)
  if (sort !== undefined) return { filter, order: parseSort(sort) }
  return { filter, order: filter.words === undefined ? BY_ID : 'relevance' }
}

function readFilter({ q, title, author, year, year_min, year_max }: FilterTexts): BookFilter {
  return {
    ...(title !== undefined && { title }),
    ...(author !== undefined && { author }),
    ...(year !== undefined && { year: parseInteger(year) }),
    ...(year_min !== undefined && { yearMin: parseInteger(year_min) }),
    ...(year_max !== undefined && { yearMax: parseInteger(year_max) }),
    ...(q !== undefined && { words: parseWords(q) }),
  }
}

const SORT_FIELDS: readonly (keyof Book)[] = ['id', 'title', 'author', 'year']

/** @returns the fields up to `id`, after which nothing is left to decide. */
function parseSort(text: string): readonly SortField[] {
  const fields = text.split(',').map((part) => {
    const descending = part.startsWith('-')
    const name = valid(SORT_FIELDS.find((field) => field === (descending ? part.slice(1) : part)))
    return { name, descending }
  })
  if (new Set(fields.map(({ name }) => name)).size < fields.length) throw failure.invalidQueryParameter
  const id = fields.findIndex(({ name }) => name === 'id')
  return id === -1 ? [...fields, ...BY_ID] : fields.slice(0, id + 1)
}

function parseWords(text: string): readonly string[] {
  const words = searchedWords(text)
  if (words.length === 0 || words.length > MAX_WORDS) throw failure.invalidQueryParameter
  return words
}

function parseLimit(text: string): number {
  const limit = parseInteger(text)
  if (limit < 1 || limit > MAX_LIMIT) throw failure.invalidQueryParameter
  return limit
}

function parseInteger(text: string): number {
  const number = Number(text)
  if (!/^(?:0|-?[1-9][0-9]*)$/.test(text) || !Number.isSafeInteger(number))
    throw failure.invalidQueryParameter
  return number
}
