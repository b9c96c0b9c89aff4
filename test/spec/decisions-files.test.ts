import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Book, type Target, targets } from './client.ts'
import { useSession } from './session.ts'

const TEXTS = ['plain', '=1+1', ' spaces ', 'a,b', '"quoted"', 'two\r\nlines', '', '},{"id":1', '文字 🂡']

for (const target of targets()) testFiles(target)

function testFiles(target: Target): void {
  describe(`decisions on files (${target.name})`, () => {
    const session = useSession(target)

    const get = (path: string, accept: string, method = 'GET') =>
      fetch(new URL(path, target.url), { method, headers: { authorization: session.token, accept } })

    async function create(author: string): Promise<Book[]> {
      const books: Book[] = []
      for (const title of TEXTS) books.push(await session.create({ title, author, year: -books.length }))
      return books
    }

    it('decision: GET /books as text/csv has the books that are asked for, in their order', async () => {
      const author = `CSV, ${Math.random()}`
      const books = await create(author)
      const query = `author=${encodeURIComponent(author)}&sort=-id`
      const response = await get(`/books?${query}`, 'text/csv')
      assert.equal(response.status, 200)
      assert.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8')
      assert.equal(response.headers.get('content-disposition'), 'attachment; filename="books.csv"')
      assert.match(response.headers.get('vary') ?? '', /\bAccept\b/)
      const field = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
      const rows = books
        .toReversed()
        .map(({ id, title, year }) => `${id},${field(title)},"${author}",${year}\r\n`)
      assert.equal(await response.text(), `id,title,author,year\r\n${rows.join('')}`)
    })

    it('decision: GET /books as application/x-ndjson has one book in each line', async () => {
      const author = `NDJSON ${Math.random()}`
      const books = await create(author)
      const response = await get(`/books?author=${encodeURIComponent(author)}`, 'application/x-ndjson')
      assert.equal(response.headers.get('content-type'), 'application/x-ndjson; charset=utf-8')
      assert.equal(response.headers.get('content-disposition'), 'attachment; filename="books.ndjson"')
      assert.equal(await response.text(), books.map((book) => `${JSON.stringify(book)}\n`).join(''))
    })

    it('decision: with spreadsheet, CSV has a byte order mark and guarded formulas', async () => {
      const author = `=Sheet ${Math.random()}`
      for (const title of ['=1+1', 'Ü;-1', "'@"]) {
        await session.call('POST', '/book', { json: { title, author, year: -1 } })
      }
      const path = `/books?author=${encodeURIComponent(author)}`
      const response = await get(`${path}&spreadsheet=true`, 'text/csv')
      assert.equal(response.headers.get('content-type'), 'text/csv; charset=utf-8')
      const bytes = Buffer.from(await response.arrayBuffer())
      const lines = bytes.toString().replaceAll(/^\d+/gm, 'N')
      const rows = ["'=1+1", "Ü;'-1", "''@"].map((title) => `N,${title},'${author},-1\r\n`)
      assert.equal(lines, `\ufeffbook-catalogue id,title,author,year\r\n${rows.join('')}`)
      const page = await get(`${path}&spreadsheet=true&limit=1`, 'text/csv')
      const next = /<(.*?)>/.exec(page.headers.get('link') ?? '')?.[1]
      assert.match(
        await (await get(`${next}`, 'text/csv')).text(),
        /^\ufeff?book-catalogue id,.*\r\n\d+,Ü;'-1,/,
      )
      const before = await (await get(path, 'text/csv')).text()
      assert.equal(await (await get(`${path}&spreadsheet=false`, 'text/csv')).text(), before)
      for (const accept of ['application/json', 'application/x-ndjson', '*/*']) {
        const refused = await get(`${path}&spreadsheet=true`, accept)
        assert.deepEqual(await refused.json(), {
          status: 400,
          message: 'Invalid query parameter: spreadsheet is only for requests that accept text/csv',
          data: null,
        })
      }
    })

    it('decision: a file has all books, without parameters, and a page of them with a limit and a Link', async () => {
      const books = await create(`All ${Math.random()}`)
      const all = (await (await get('/books', 'application/x-ndjson')).text()).trimEnd().split('\n')
      const ids = new Set(all.map((line) => (JSON.parse(line) as Book).id))
      assert.ok(books.every(({ id }) => ids.has(id)))
      const page = await get('/books?limit=2&count=true', 'application/x-ndjson')
      assert.equal((await page.text()).split('\n').length, 3)
      assert.match(page.headers.get('link') ?? '', /rel="next"/)
      assert.ok(Number(page.headers.get('x-total-count')) >= books.length)
    })

    it('decision: a file without a book is a header in CSV, and empty in NDJSON', async () => {
      assert.equal(
        await (await get('/books?author=nobody+at+all', 'text/csv')).text(),
        'id,title,author,year\r\n',
      )
      assert.equal(await (await get('/books?author=nobody+at+all', 'application/x-ndjson')).text(), '')
    })

    for (const accept of ['*/*', 'image/png', 'application/json, text/csv;q=0.9', 'text/csv;q=0']) {
      it(`decision: GET /books with Accept: ${accept} is the envelope`, async () => {
        const response = await get('/books?limit=1', accept)
        assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8')
        assert.equal(response.headers.get('content-disposition'), null)
        assert.match(response.headers.get('vary') ?? '', /\bAccept\b/)
        assert.equal(((await response.json()) as { status: number }).status, 200)
      })
    }

    it('decision: errors are in the envelope, whatever is accepted; HEAD is answered as GET is', async () => {
      const refused = await get('/books?limit=0', 'text/csv')
      assert.deepEqual(await refused.json(), {
        status: 400,
        message: 'Invalid query parameter: limit must be an integer from 1 to 1000',
        data: null,
      })
      assert.equal(refused.headers.get('content-disposition'), null)
      const head = await get('/books', 'text/csv', 'HEAD')
      assert.equal(head.headers.get('content-type'), 'text/csv; charset=utf-8')
      assert.equal(await head.text(), '')
    })
  })
}
