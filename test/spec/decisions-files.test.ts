import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Book, targets } from './client.ts'
import { useSession } from './session.ts'

const TEXTS = ['plain', '=1+1', ' spaces ', 'a,b', '"quoted"', 'two\r\nlines', '', '},{"id":1', '文字 🂡']

const CSV = 'text/csv'
const NDJSON = 'application/x-ndjson'

for (const target of targets())
  describe(`decisions on files (${target.name})`, () => {
    const session = useSession(target)

    const get = (path: string, accept: string, method = 'GET') => session.fetch(path, { accept }, method)

    async function create(author: string, titles: readonly string[] = TEXTS) {
      const books: Book[] = []
      for (const title of titles) books.push(await session.create({ title, author, year: -books.length }))
      return { books, path: `/books?author=${encodeURIComponent(author)}` }
    }

    function assertHeaders({ headers }: Response, type: string, disposition: string | null): void {
      assert.equal(headers.get('content-type'), `${type}; charset=utf-8`)
      assert.equal(headers.get('content-disposition'), disposition)
      assert.match(headers.get('vary') ?? '', /\bAccept\b/)
    }

    it('decision: GET /books as text/csv has the books that are asked for, in their order, and HEAD its header; without books, it has the names of the columns', async () => {
      const author = `CSV, ${Math.random()}`
      const { books, path } = await create(author)
      const response = await get(`${path}&sort=-id`, CSV)
      assertHeaders(response, CSV, 'attachment; filename="books.csv"')
      const field = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
      const rows = books
        .toReversed()
        .map(({ id, title, year }) => `${id},${field(title)},"${author}",${year}\r\n`)
      assert.equal(await response.text(), `id,title,author,year\r\n${rows.join('')}`)
      const head = await get('/books', CSV, 'HEAD')
      assertHeaders(head, CSV, 'attachment; filename="books.csv"')
      assert.equal(await head.text(), '')
      assert.equal(await (await get(`${path}x`, CSV)).text(), 'id,title,author,year\r\n')
    })

    it('decision: GET /books as application/x-ndjson has one book in each line, or is empty; a limit makes it a page with a Link', async () => {
      const { books, path } = await create(`NDJSON ${Math.random()}`)
      const response = await get(path, NDJSON)
      assertHeaders(response, NDJSON, 'attachment; filename="books.ndjson"')
      assert.equal(await response.text(), books.map((book) => `${JSON.stringify(book)}\n`).join(''))
      const all = (await (await get('/books', NDJSON)).text()).trimEnd().split('\n')
      const ids = new Set(all.map((line) => (JSON.parse(line) as Book).id))
      assert.ok(books.every(({ id }) => ids.has(id)))
      const page = await get(`${path}&limit=2&count=true`, NDJSON)
      assert.equal((await page.text()).split('\n').length, 3)
      assert.match(page.headers.get('link') ?? '', /rel="next"/)
      assert.equal(page.headers.get('x-total-count'), `${books.length}`)
      assert.equal(await (await get(`${path}x`, NDJSON)).text(), '')
    })

    it('decision: with spreadsheet, CSV has a byte order mark and guarded formulas', async () => {
      const author = `=Sheet ${Math.random()}`
      const { path } = await create(author, ['=1+1', 'Ü;-1', "'@"])
      const textOf = async (path: string) =>
        Buffer.from(await (await get(path, CSV)).arrayBuffer()).toString()
      const rows = ["'=1+1", "Ü;'-1", "''@"].map((title, i) => `N,${title},'${author},${-i}\r\n`)
      const sheet = (await textOf(`${path}&spreadsheet=true`)).replaceAll(/^\d+/gm, 'N')
      assert.equal(sheet, `\ufeffbook-catalogue id,title,author,year\r\n${rows.join('')}`)
      const page = await get(`${path}&spreadsheet=true&limit=1`, CSV)
      const next = /<(.*?)>/.exec(page.headers.get('link') ?? '')?.[1]
      assert.match(await textOf(`/${next}`), /^\ufeffbook-catalogue id,.*\r\n\d+,Ü;'-1,/)
      assert.equal(await textOf(`${path}&spreadsheet=false`), await textOf(path))
      const message = 'Invalid query parameter: spreadsheet is only for requests that accept text/csv'
      for (const accept of ['application/json', NDJSON, '*/*']) {
        const refused = await get(`${path}&spreadsheet=true`, accept)
        assert.deepEqual(await refused.json(), { status: 400, message, data: null })
      }
    })

    for (const [path, accept, status] of [
      ['/books?limit=1', '*/*', 200],
      ['/books?limit=1', 'application/json, text/csv;q=0.9', 200],
      ['/books?limit=1', 'text/csv;q=0', 200],
      ['/books?limit=0', 'text/csv', 400],
    ] as const)
      it(`decision: GET ${path} with Accept: ${accept} is the envelope`, async () => {
        const response = await get(path, accept)
        assertHeaders(response, 'application/json', null)
        assert.equal(((await response.json()) as { status: number }).status, status)
      })
  })
