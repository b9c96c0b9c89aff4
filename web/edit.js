import { Authors } from './authors.js'
import { keyOf } from './duplicates.js'
import { hidden } from './pages.js'
import { Away, call, FIELDS, Refused } from './service.js'
import { noYear, readYear, searchFor, typeYear } from './text.js'
import { words } from './words.js'

/**
 * @typedef {import('./service.js').Book} Book
 * @typedef {Record<typeof import('./service.js').FIELDS[number], string>} Draft
 */

/** How many likely duplicates are named at most. */
const MOST_TWINS = 3

/**
 * A book that is being edited or added. Each dialog has an edit of its own, so a late response changes only the one that
 * asked for it.
 */
export class Edit {
  /** As somebody else has stored the book meanwhile; null if it is gone. @type {Book | null | undefined} */
  theirs
  /** Why it could not be stored. */
  message = ''
  /** The field that has to be changed first. @type {keyof Draft | undefined} */
  fault
  /** Other books in the catalogue that are likely to be the same one. @type {Book[]} */
  twins = []
  /** The authors that are suggested. */
  authors = new Authors()
  /** Whether a save is under way. */
  isBusy = false
  /** Whether the user is asked if what is typed may be discarded. */
  isLeaving = false

  /**
   * @param {Book} [book] as it was read; undefined for a new one.
   * @param {string} [tag] its entity tag.
   */
  constructor(book, tag = '') {
    this.book = book
    this.tag = tag
    /** What is typed. @type {Draft} */
    this.draft = draftOf(book)
    this.original = { ...this.draft }
  }

  /** Whether something is typed that is not stored. */
  get isChanged() {
    return FIELDS.some((name) => this.draft[name] !== this.original[name])
  }

  /**
   * Stores what is typed. If somebody else has changed the book, reads their version.
   * @returns {Promise<Book | undefined>} undefined if it was not stored: then `message` or `theirs` says why.
   */
  async save() {
    const { title, author, year: text } = this.draft
    const year = readYear(text)
    this.message = ''
    this.fault = undefined
    // A blank title that somebody has stored may stay.
    if (title.trim() === '' && (this.book === undefined || title !== this.book.title))
      return this.#refuse('title', words.editor.noTitle)
    if (year === undefined)
      return this.#refuse('year', text.trim() === '' ? words.editor.noYear : noYear(text))
    this.isBusy = true
    try {
      const body = { title, author, year }
      const response =
        this.book === undefined
          ? await call('POST', '/book', { body })
          : await call('PUT', `/book/${this.book.id}`, { body, headers: { 'if-match': this.tag } })
      return (await response.json()).data
    } catch (error) {
      const status = error instanceof Refused ? error.status : 0
      if (this.book && (status === 412 || status === 404)) await this.#readTheirs(this.book.id)
      else this.message = explain(error)
      return undefined
    } finally {
      this.isBusy = false
    }
  }

  /** Looks for books of the same title and author but for case and accents; for a new one, also before an author is typed. */
  async lookForTwins() {
    const { title, author } = this.draft
    const isAnyAuthor = this.book === undefined && author.trim() === ''
    const key = keyOf(this.draft)
    const q = searchFor(`${title} ${author}`)
    if (searchFor(title) === '') return
    try {
      const response = await call('GET', `/books?${new URLSearchParams({ q, limit: '100' })}`)
      /** @type {{ data: Book[] }} */
      const { data } = await response.json()
      if (this.draft.title !== title || this.draft.author !== author) return
      this.twins = data
        .filter(({ id }) => id !== this.book?.id && !hidden.has(id))
        .filter((book) => keyOf(isAnyAuthor ? { ...book, author: '' } : book) === key)
        .slice(0, MOST_TWINS)
    } catch (error) {
      // It is only a hint: a save tells what is wrong.
      if (!(error instanceof Away || error instanceof Refused)) throw error
    }
  }

  /** @param {keyof Draft} field @param {string} message @returns {undefined} */
  #refuse(field, message) {
    this.fault = field
    this.message = message
  }

  /** From now on a save replaces what is shown as theirs, and nothing newer. @param {number} id */
  async #readTheirs(id) {
    try {
      const { book, tag } = await read(id)
      this.theirs = book
      this.tag = tag
    } catch (error) {
      if (error instanceof Refused && error.status === 404) this.theirs = null
      else this.message = explain(error)
    }
  }
}

/** What is typed for a book. @param {Book} [book] @returns {Draft} */
export const draftOf = (book) =>
  book === undefined
    ? { title: '', author: '', year: '' }
    : { title: book.title, author: book.author, year: typeYear(book.year) }

/** @param {number} id @param {AbortSignal} signal @returns {Promise<Edit>} */
export async function readForEdit(id, signal) {
  const { book, tag } = await read(id, { signal })
  return new Edit(book, tag)
}

/**
 * @param {number} id
 * @param {{ signal?: AbortSignal }} [options]
 * @returns {Promise<{ book: Book, tag: string }>} with its entity tag.
 */
export async function read(id, options) {
  const response = await call('GET', `/book/${id}`, options)
  /** @type {{ data: Book }} */
  const { data } = await response.json()
  // Some proxies that compress take the tag out.
  return { book: data, tag: response.headers.get('etag') ?? (await entityTag(data)) ?? '' }
}

/**
 * The entity tag of a book as it was read, by the rule of src/http/conditional-requests.ts: so it need not be read again.
 * @param {Book} book @returns {Promise<string | undefined>} undefined where browsers have no digests, as without HTTPS.
 */
export async function entityTag(book) {
  const digest = await crypto.subtle?.digest(
    'SHA-256',
    new TextEncoder().encode(FIELDS.map((name) => book[name]).join('\0')),
  )
  if (digest === undefined) return undefined
  const base64 = btoa(String.fromCharCode(...new Uint8Array(digest)))
  return `"${base64.replaceAll('+', '-').replaceAll('/', '_').replace('=', '')}"`
}

/** @param {unknown} error */
export function explain(error) {
  if (error instanceof Away) return words.editor.away(error.message)
  if (!(error instanceof Refused)) return String(error)
  if (error.status === 400) return words.editor.invalid
  if (error.status === 404) return words.editor.notFound
  if (error.status === 413) return words.editor.tooLong
  return error.message
}
