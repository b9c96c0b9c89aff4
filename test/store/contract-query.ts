import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import type { Book, NewBook } from '../../src/catalogue/book.ts'
import {
  ALL_BOOKS,
  type BookFilter,
  type BookQuery,
  BY_ID,
  type Order,
  type Position,
  type SortField,
} from '../../src/catalogue/query.ts'
import { searchedWords } from '../../src/catalogue/search-words.js'
import { plainKey } from '../../src/catalogue/sort-key.ts'
import { hostileBooks } from '../files/hostile-books.ts'
import { booksOf, inGroups, listAll, listPages, plain } from './pages.ts'
import { compareText, compareWords, responseOf, searchFor, statisticsOf } from './query-model.ts'
import { type TestData, useStore } from './use-store.ts'

const KIB = 1024

const PLENTY = { books: 1000, text: 1024 * KIB }

/** Texts that engines are known to compare, cut or search in ways of their own. */
const TEXTS = [
  ...'| |a|a |A|ä|a\u0308|á|b|B|ab|Z|z|ß|ss|\uFFFD|\uE000|😀|𝔘|İ|ı|i|٢٢|22|2|-5|??|\t|\n'.split('|'),
  ...`the cat|The Cat|cats|c a t|of|o|O'Brien|obrien|Catch-22|a'b|%|_|\\|'|"|AND OR NOT`.split('|'),
  ..."The Zoo|the  zoo|La Zoo|«Zoo»|zoo!|À zoo|A|Die|The The|A & B|L'Été|l’ete|C++|c#|c".split('|'),
  ...'García Márquez|garcia marquez|百年孤独|孤独|孤独10|हिन्दी की|きょう|はじめてのPython|python'.split('|'),
  ...'אָב|ab\u00adc|한국어|구ㄱ|الكتاب|كتاب|Vol. 9|vol 09|Vol. 10'.split('|'),
  ...'สี่แผ่นดิน|ရွှေပြည်|ផ្កាស្រពោន|Ὀδύσσεια|Ёлка|İnce Memed|Truyện Kiều|پ ۱۴۰۰|பொன்னி|ﷺ ㌖|&|!:*'.split('|'),
  `${'x'.repeat(40)}1`,
  `${'x'.repeat(40)}2`,
]
/** Titles of which the order knows only the first 250 code points. */
const LONG_TITLES = ['bz', 'ba', 'a', 'b', 'ba '].map((end) => '😀'.repeat(249) + end)
const YEARS = [0, 1, -1, 5, 1969, 2 ** 31, -(2 ** 31) - 1, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]

const text = fc.constantFrom(...TEXTS)
const year = fc.constantFrom(...YEARS)
const newBook: fc.Arbitrary<NewBook> = fc.record({ title: text, author: text, year })

const field: fc.Arbitrary<SortField> = fc.record({
  name: fc.constantFrom('title', 'author', 'year'),
  descending: fc.boolean(),
})
const fields = fc
  .tuple(fc.uniqueArray(field, { selector: ({ name }) => name, maxLength: 3 }), fc.boolean())
  .map(([first, descending]): Order => [...first, { name: 'id', descending }])

/** Texts with a word, some of them of two texts. */
const searched = fc
  .oneof(
    text,
    fc.tuple(text, text).map((both) => both.join(' ')),
  )
  .filter((each) => searchedWords(each).length > 0)
const filter = fc.record(
  { title: text, author: text, year, yearMin: year, yearMax: year, words: searched.map(searchedWords) },
  { requiredKeys: [] },
)
/** Most have few conditions, so that they find something. */
const query: fc.Arbitrary<BookQuery> = fc
  .record({
    filter,
    kept: fc.subarray(['title', 'author', 'year', 'yearMin', 'yearMax', 'words'], { maxLength: 2 }),
    order: fields,
    ranked: fc.option(searched, { nil: undefined }),
  })
  .map(({ filter, kept, order, ranked }) => {
    const some: BookFilter = Object.fromEntries(
      Object.entries(filter).filter(([name]) => kept.includes(name)),
    )
    return ranked === undefined
      ? { filter: some, order }
      : { ...searchFor(ranked), filter: { ...some, words: searchedWords(ranked) } }
  })

const sizeOf = (books: readonly Book[]) =>
  books.reduce((size, { title, author }) => size + Buffer.byteLength(title + author), 0)

/**
 * The pages of queries: which books, in which order, and how they follow one another.
 * @param isIndexed whether the store has the words and sort keys of its books. Without them it cannot search for words,
 *   and sorts texts by their code points.
 */
export function queryContract(prepare: () => Promise<TestData>, { isIndexed = true } = {}): void {
  const opened = useStore(prepare)
  const compare = isIndexed
    ? compareWords
    : (_: string, a: string, b: string) => compareText(plainKey(a), plainKey(b))

  const create = (books: readonly NewBook[]) => Promise.all(books.map((book) => opened.store.create(book)))

  /** Of those that are created at once, any may get the lowest id. */
  async function createInOrder(titles: readonly string[]): Promise<Book[]> {
    const books: Book[] = []
    for (const title of titles) books.push(await opened.store.create({ title, author: 'A', year: 1 }))
    return books
  }

  /** All books of a query, from page to page. */
  async function walk(query: BookQuery, books: number, text = PLENTY.text): Promise<Book[]> {
    const found: Book[] = []
    let after: Position | undefined
    for (;;) {
      const page = await opened.store.page(query, after, { books, text })
      const read = booksOf(page)
      assert.ok(read.length <= books && (read.length < 2 || sizeOf(read) <= text))
      // More may be announced in vain only where the text ends a page.
      assert.ok(read.length > 0 || after === undefined || text < PLENTY.text)
      assert.equal(page.count, read.length)
      found.push(...read)
      if (!page.more) return found
      assert.ok(page.last, 'more is to come after no book')
      after = page.last
    }
  }

  const sorted = (name: SortField['name'], descending = false): Order => [
    { name, descending },
    ...(name === 'id' ? [] : BY_ID),
  ]

  it('finds the same books in the same order as a plain search of all, from page to page', async () => {
    const books = await create([
      ...TEXTS.map((title, i) => ({ title, author: TEXTS.at(-i) ?? '', year: YEARS[i % YEARS.length] ?? 0 })),
      ...LONG_TITLES.map((title) => ({ title, author: 'A', year: 1 })),
    ])
    await fc.assert(
      fc.asyncProperty(
        query.filter(({ filter }) => isIndexed || filter.words === undefined),
        fc.integer({ min: 1, max: 40 }),
        fc.array(newBook, { maxLength: 2 }),
        async (query, limit, more) => {
          books.push(...(await create(more)))
          const expected = responseOf(books, query, compare)
          assert.deepEqual(await walk(query, limit), expected)
          assert.equal(await opened.store.count(query.filter), expected.length)
          assert.deepEqual(await opened.store.statistics(query.filter), statisticsOf(expected, compare))
        },
      ),
      { numRuns: 60 },
    )
    // A page that ends with the last book announces no other.
    assert.deepEqual(await walk(ALL_BOOKS, books.length), books)
    const longTitle = { filter: { title: String(LONG_TITLES[1]) }, order: BY_ID }
    for (const query of [{ filter: {}, order: sorted('title') }, longTitle])
      assert.deepEqual(await walk(query, 40), responseOf(books, query, compare))
  })

  it('keeps to a range of years in every order, from page to page, and after any book of the whole list', async () => {
    const years = [3, 5, 2, 4, 1, 3, 2, 5, 4, 0]
    const books = await create(years.map((year, i) => ({ title: `T${i % 4}`, author: `A${i % 3}`, year })))
    for (const filter of [{ yearMin: 2, yearMax: 4 }, { yearMin: 3 }, { yearMax: 3 }])
      for (const name of ['title', 'year', 'id'] as const)
        for (const descending of [false, true]) {
          const query = { filter, order: sorted(name, descending) }
          for (const limit of [1, 2])
            assert.deepEqual(await walk(query, limit), responseOf(books, query, compare))
          const all = { ...query, filter: {} }
          const left = responseOf(books, all, compare)
          for (let after: Position | undefined; left.shift(); ) {
            after = (await opened.store.page(all, after, { ...PLENTY, books: 1 })).last
            const found = booksOf(await opened.store.page(query, after, PLENTY))
            assert.deepEqual(found, responseOf(left, query, compare))
          }
        }
  })

  it('is given up before, waiting or running when its signal is aborted, with its reason', async () => {
    const { store } = opened
    await createInOrder(['Dune'])
    // Words are looked up in an index of each engine's own.
    const filter = isIndexed ? { words: ['dune'] } : {}
    const order = isIndexed ? 'relevance' : sorted('title')
    const reason = new Error('nobody waits')
    for (const ask of [
      async (signal?: AbortSignal) =>
        booksOf(await store.page({ filter, order }, undefined, PLENTY, { signal })),
      (signal?: AbortSignal) => store.count(filter, { signal }),
      (signal?: AbortSignal) => store.statistics(filter, { signal }),
    ]) {
      const value = await ask()
      await assert.rejects(ask(AbortSignal.abort(reason)), reason)
      // More than there are threads or connections, so that some run and others wait.
      const controllers = Array.from({ length: 30 }, () => new AbortController())
      const results = Promise.allSettled(controllers.map(({ signal }) => ask(signal)))
      const isGivenUp = (i: number) => i % 3 !== 2
      for (const [i, controller] of controllers.entries()) if (isGivenUp(i)) controller.abort(reason)
      assert.deepEqual(
        await results,
        controllers.map((_, i) =>
          isGivenUp(i) ? { status: 'rejected', reason } : { status: 'fulfilled', value },
        ),
      )
    }
  })

  it('ends a page before the text is too long, but never without a book, and goes on after it', async () => {
    const size = 300 * KIB
    const books = await createInOrder(
      [size, size, 10, size, size].map((length, i) => `${i}`.padEnd(length, 'x')),
    )
    for (const order of [sorted('id'), sorted('title'), sorted('year')]) {
      // A book has one more byte, of its author.
      for (const text of [1, size + 1, size + 12, 2 * size + 2, 700 * KIB, 10 * size])
        assert.deepEqual(await walk({ filter: {}, order }, 100, text), books)
      const page = await opened.store.page({ filter: {}, order }, undefined, { books: 100, text: 700 * KIB })
      assert.ok(page.more && page.count > 1)
    }
  })

  it('counts only the 200 decades and 20 authors with the most books', async () => {
    const some = Array.from({ length: 210 }, (_, i) => ({ title: 'T', author: `${i % 30}`, year: 10 * i }))
    await opened.store.import(inGroups([...some, ...some.slice(-100)]))
    assert.deepEqual(await opened.store.statistics({}), statisticsOf(await listAll(opened.store), compare))
  })

  it('stores any text as it is, also of an import, and lists the same books as JSON, as lines of JSON and as values, whatever is in them', async () => {
    const control = String.fromCharCode(...Array.from({ length: 0xa0 }, (_, i) => i + 1))
    const hostile = fc.sample(hostileBooks, { numRuns: 60, seed: 2 }).flat()
    const long = { title: '\\\'"\n'.repeat(200_000), author: '🂡', year: Number.MIN_SAFE_INTEGER }
    const books = [...hostile, { title: control, author: 'A', year: 1 }, long]
    const created = plain(await create(books))
    assert.deepEqual(
      created.map(({ id: _, ...book }) => book),
      books,
    )
    await opened.store.import(inGroups(books))
    const imported = (await listAll(opened.store)).slice(books.length)
    const expected = [
      ...created.toSorted((a, b) => a.id - b.id),
      ...books.map((book, i) => ({ id: imported[i]?.id, ...book })),
    ]
    const texts = expected.map((book) => JSON.stringify(book))
    const pages = () => Array.fromAsync(listPages(opened.store))
    assert.equal((await pages()).map((page) => page.json()).join(), texts.join())
    assert.equal((await pages()).map((page) => page.lines()).join('\n'), texts.join('\n'))
    assert.deepEqual(await listAll(opened.store), expected)
  })
}
