import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import type { Book, NewBook } from '../../src/catalogue/book.ts'
import type { BookQuery, Position } from '../../src/catalogue/query.ts'
import type { Store } from '../../src/catalogue/store.ts'
import { referenceSearch, referenceWords } from '../catalogue/search-words-reference.ts'
import { compareByWords, referenceKey } from '../catalogue/sort-key-reference.ts'
import { engineMissing, useDatabases } from '../support/engines.ts'
import { openNewDatabase } from './new-database.ts'
import { booksOf, listAll } from './pages.ts'
import { compareText, searchFor, titleRank } from './query-model.ts'
import { openNewFile } from './sqlite/file.ts'
import { type TestStore, useStore } from './use-store.ts'

/** Words of titles in many languages and scripts. */
const LANGUAGES = [
  'The Left Hand of Darkness Catch-22 O’Brien Unix C++ C# r2d2 café',
  'Cien años de soledad Niña ¿Quién?',
  'Les Misérables L’Étranger À la œuvre',
  'Die Blechtrommel Straße Übermaß Groß-Berlin',
  'Quo vadis Łódź żółw Pan Tadeusz',
  'Hedda Gabler Ærø søster År',
  'Íslandsklukkan Þórr ð',
  'İnce Memed ırmak Kürk Mantolu',
  'Truyện Kiều Nỗi buồn chiến tranh',
  'Bumi Manusia',
  'Преступление и наказание Ёлка Мастер',
  'Кобзар Лісова пісня її',
  'Под игото',
  'Абай жолы Қазақ',
  'Ὀδύσσεια Ἰλιάς ΟΔΥΣΣΕΥΣ Ζορμπάς',
  'Վերք Հայաստանի',
  'ვეფხისტყაოსანი დათა',
  'الكتاب والسلام ألف ليلة وليلة مكتبة إلى ٢٠٢٤',
  'بوف کور می‌خواهم شاهنامه ۱۴۰۰',
  'آگ کا دریا',
  'הספר שלום דרך ארץ סיפור על אהבה וחושך',
  'ייִדיש מאָטל',
  'गोदान हिन्दी २०२४ कामायनी',
  'কবিতা শেষের ১৯৭১',
  'ਅੰਮ੍ਰਿਤਾ ਪਿੰਜਰ',
  'સરસ્વતીચંદ્ર',
  'ଛ ମାଣ ଆଠ ଗୁଣ୍ଠ',
  'பொன்னியின் செல்வன்',
  'వేయిపడగలు',
  'ಮಲೆಗಳಲ್ಲಿ ಮದುಮಗಳು',
  'ചെമ്മീൻ ഖസാക്കിന്റെ',
  'ගම්පෙරළිය',
  'สี่แผ่นดิน คำพิพากษา ๒๕๖๗',
  'ພະລັກພະລາມ',
  'ရွှေပြည်',
  'ផ្កាស្រពោន',
  'བོད་ཀྱི་དེབ',
  'ፍቅር እስከ መቃብር',
  'ᠮᠣᠩᠭᠣᠯ',
  '百年孤独 红楼梦 第3巻 三体 𠮷野家',
  'ㄅㄆㄇ 紅樓夢',
  'はじめてのPython入門 ノルウェイの森 ガンダム ｶﾞﾝﾀﾞﾑ コーヒー',
  '한국어 백년의 고독 채식주의자 82년생 각시 넋',
  'ᏣᎳᎩ',
  'ߒߞߏ',
  '??? 🐍 … ① Ⅷ ㌖ ﷺ',
].map((line) => line.split(' '))

const word = fc.constantFrom(...LANGUAGES).chain((words) => fc.constantFrom(...words))
const text = fc
  .array(fc.tuple(word, fc.constantFrom(' ', ' ', ' ', '', '-', '：')), { minLength: 1, maxLength: 4 })
  .map((words) => words.flat().join(''))
const book: fc.Arbitrary<NewBook> = fc.record({ title: text, author: text, year: fc.constant(1) })

/** A part of a text, as readers type it, and perhaps a word of another. */
const search = fc
  .tuple(text, fc.nat(), fc.integer({ min: 1, max: 6 }), fc.option(word, { freq: 5 }))
  .map(([text, begin, length, other]) => {
    const letters = [...text]
    const part = letters.slice(begin % letters.length).slice(0, length)
    return `${part.join('')}${other === null ? '' : ` ${other}`}`
  })
  .filter((text) => referenceSearch(text).length > 0)

const SEED = 20261123
const BOOKS = fc.sample(book, { seed: SEED, numRuns: 3000 })
const SEARCHES = [...new Set(fc.sample(search, { seed: SEED, numRuns: 2500 }))]

const title = fc
  .tuple(
    fc.constantFrom('', '', '', 'The ', 'Die ', 'L’', '“', '¿', '… '),
    text,
    fc.constantFrom('', '', ' 9', ' 10', ' 007', ' Vol. 12', '９９', ' १०', ' 1,000', '!'),
  )
  .map((parts) => parts.join(''))
const SORTED_BOOKS = fc.sample(fc.record({ title, author: text, year: fc.constant(1) }), {
  seed: SEED,
  numRuns: 20_000,
})

/** The ids of the books in their order, found by the plainest rules. */
function found(books: readonly (Book & { words: ReadonlySet<string> })[], text: string): number[] {
  const searched = referenceSearch(text)
  const matching = books.filter(({ words }) =>
    searched.every((each) => words.has(each) || words.values().some((word) => word.startsWith(each))),
  )
  const [searchedTitle] = referenceKey('title', text)
  const rank = ({ title, words }: (typeof books)[number]) =>
    searched.every((each) => words.has(each)) ? titleRank(title, searchedTitle) : 3
  return matching.toSorted((a, b) => rank(a) - rank(b) || a.id - b.id).map(({ id }) => id)
}

async function walk(store: Store, query: BookQuery, books: number): Promise<number[]> {
  const ids: number[] = []
  let after: Position | undefined
  do {
    const page = await store.page(query, after, { books, text: 2 ** 20 })
    ids.push(...booksOf(page).map(({ id }) => id))
    after = page.more ? page.last : undefined
  } while (after !== undefined)
  return ids
}

/** The ids of the books in the order of a field, compared by the plainest rules. */
function inOrder(books: readonly Book[], name: 'title' | 'author'): number[] {
  const keyed = books.map((book) => ({ id: book.id, key: referenceKey(name, book[name]) }))
  return keyed
    .toSorted((a, b) => compareByWords(a.key[0], b.key[0]) || compareText(a.key[1], b.key[1]) || a.id - b.id)
    .map(({ id }) => id)
}

async function importAll(store: Store, books: readonly NewBook[]): Promise<void> {
  async function* groups() {
    yield books
  }
  await store.import(groups())
}

/** Searches and lists in many languages are the same on every engine, from page to page. */
function languageContract(open: () => Promise<TestStore>): void {
  const opened = useStore(open)

  it('finds what the plainest rules find, in their order, in many languages', {
    timeout: 300_000,
  }, async () => {
    const { store } = opened
    await importAll(store, BOOKS)
    let isIncomplete: boolean
    do {
      isIncomplete = false
      await store.count({ words: ['a'] }, { onIncomplete: () => (isIncomplete = true) })
    } while (isIncomplete)
    const books = (await listAll(store)).map((book) => ({
      ...book,
      words: new Set([...referenceWords(book.title), ...referenceWords(book.author)]),
    }))
    let matches = 0
    for (const [i, text] of SEARCHES.entries()) {
      const expected = found(books, text)
      const limit = Math.max(1 + (i % 7), Math.ceil(expected.length / 5))
      assert.deepEqual(await walk(store, searchFor(text), limit), expected, text)
      matches += expected.length
    }
    assert.ok(matches > SEARCHES.length)
  })

  it('sorts 20,000 titles and authors in thirty scripts as the plainest rules do', {
    timeout: 300_000,
  }, async () => {
    const { store } = opened
    await importAll(store, SORTED_BOOKS)
    const books = await listAll(store)
    for (const name of ['title', 'author'] as const) {
      const expected = inOrder(books, name)
      const order = (descending: boolean) => [name, 'id' as const].map((name) => ({ name, descending }))
      assert.deepEqual(await walk(store, { filter: {}, order: order(false) }, 900), expected)
      assert.deepEqual(await walk(store, { filter: {}, order: order(true) }, 900), expected.toReversed())
    }
  })
}

describe('many languages, on SQLite', () => languageContract(openNewFile))

for (const engine of ['postgres', 'mysql'] as const)
  describe(`many languages, on ${engine}`, { skip: engineMissing(engine) }, () => {
    const databases = useDatabases(engine)
    languageContract(async () => openNewDatabase(await databases()))
  })
