import { Authors } from './authors.js'
import { reactive } from './dialog.js'
import { keyOf } from './duplicates.js'
import { draftOf, FIELDS, isSame, noYear, readYear, searchFor } from './fields.js'
import { hidden, readPage } from './pages.js'
import { Away, call, Refused } from './service.js'
import { words } from './words.js'

/**
 * @typedef {import('./fields.js').Book} Book
 * @typedef {import('./fields.js').Draft} Draft
 */

const MOST_TWINS = 3

/** A book that is being edited or added. Each dialog has its own: a late response changes only the one that asked. */
export class Edit {
  /** The book as somebody else has stored it meanwhile; null if it was deleted. @type {Book | null | undefined} */
  theirs
  /** Why the book could not be stored. */
  message = ''
  /** The field that has to be corrected first. @type {keyof Draft | undefined} */
  fault
  /** Likely duplicates in the catalogue. @type {Book[]} */
  twins = []
  authors = new Authors()
  /** The book that was added in this dialog before, and how many these were. @type {{ after: Edit, count: number } | undefined} */
  added
  /** Whether a save is under way. */
  isBusy = false
  /** Whether the user is being asked to discard what is typed. */
  isLeaving = false

  /** @param {{ book?: Book, tag?: string }} [read] a book and its entity tag; by default a new one. */
  constructor({ book, tag = '' } = {}) {
    this.book = book
    this.tag = tag
    /** What is typed. @type {Draft} */
    this.draft = draftOf(book)
    this.original = this.draft
    reactive(this)
  }

  /** Whether something is typed that is not stored. */
  get isChanged() {
    return !isSame(this.draft, this.original)
  }

  /**
   * Stores what is typed. If somebody else has changed the book, reads their version instead.
   * @returns {Promise<Book | undefined>} undefined if nothing was stored; `message` or `theirs` then says why.
   */
  async save() {
    const { title, author, year: text } = this.draft
    const year = text.trim() === '' ? 0 : readYear(text)
    this.message = ''
    this.fault = undefined
    // A blank title may stay: books that are stored through the API may have one.
    if (title.trim() === '' && (this.book === undefined || title !== this.book.title))
      return this.#refuse('title', words.editor.noTitle)
    if (year === undefined) return this.#refuse('year', noYear(text))
    this.isBusy = true
    const body = { title, author, year }
    try {
      const response =
        this.book === undefined
          ? await call('POST', '/book', { body })
          : await call('PUT', `/book/${this.book.id}`, { body, headers: { 'if-match': this.tag } })
      return (await response.json()).data
    } catch (error) {
      const status = error instanceof Refused ? error.status : 0
      if (this.book && (status === 412 || status === 404)) return await this.#readTheirs(this.book.id, body)
      this.message = explain(error)
      return undefined
    } finally {
      this.isBusy = false
    }
  }

  /** Looks for likely duplicates. For a new book that has no author yet, only the titles have to be equal. */
  async lookForTwins() {
    const { title, author } = this.draft
    const isAnyAuthor = this.book === undefined && author.trim() === ''
    const key = keyOf(this.draft)
    const q = searchFor(`${title} ${author}`)
    if (searchFor(title) === '') return
    try {
      const path = `/books?${new URLSearchParams({ q, limit: '100' })}`
      const { books } = await readPage(path, { isHint: true })
      if (this.draft.title !== title || this.draft.author !== author) return
      this.twins = books
        .filter(({ id }) => id !== this.book?.id && !hidden.value.has(id))
        .filter((book) => keyOf(isAnyAuthor ? { ...book, author: '' } : book) === key)
        .slice(0, MOST_TWINS)
    } catch (error) {
      // Duplicates are only a hint. A save reports what is wrong.
      if (!(error instanceof Away || error instanceof Refused)) throw error
    }
  }

  /** @param {keyof Draft} field @param {string} message @returns {undefined} */
  #refuse(field, message) {
    this.fault = field
    this.message = message
  }

  /**
   * Reads the stored version. The next save replaces this one, and nothing newer.
   * @param {number} id @param {Partial<Book>} wanted what was to be stored.
   * @returns {Promise<Book | undefined>} the book if it is as wanted, as when only the response to a save was lost.
   */
  async #readTheirs(id, wanted) {
    try {
      const { book, tag } = await read(id)
      if (isSame(book, { ...book, ...wanted })) return book
      this.theirs = book
      this.tag = tag
    } catch (error) {
      if (error instanceof Refused && error.status === 404) this.theirs = null
      else this.message = explain(error)
    }
    return undefined
  }
}

/** @param {number} id @param {{ signal?: AbortSignal }} [options] @returns {Promise<{ book: Book, tag: string }>} */
export async function read(id, options) {
  const response = await call('GET', `/book/${id}`, options)
  /** @type {{ data: Book }} */
  const { data } = await response.json()
  // Some proxies remove the entity tag when they compress.
  return { book: data, tag: response.headers.get('etag') ?? (await entityTag(data)) ?? '' }
}

/**
 * Makes the entity tag of a book as src/http/conditional-requests.ts does, so that the book need not be read again.
 * @param {Book} book @returns {Promise<string | undefined>} undefined if the browser has no digests, as without HTTPS.
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
