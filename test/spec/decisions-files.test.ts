import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Book, targets } from './client.ts'
import { useSession } from './session.ts'

const TEXTS = ['plain', '=1+1', ' spaces ', 'a,b', '"quoted"', 'two\r\nlines', '', '},{"id":1', '文字 🂡']

for (const target of targets())
  describe(`decisions on files (${target.name})`, () => {
    const session = useSession(target)

    const get = (path: string, accept: string, method = 'GET') =>
      fetch(new URL(path, target.url), { method, headers: { authorization: session.token, accept } })

    async function create(author: string, titles: readonly string[] = TEXTS) {
      const books: Book[] = []
      for (const title of titles) books.push(await session.create({ title, author, year: -books.length }))
      return { books, path: `/books?author=${encodeURIComponent(author)}` }
    }

    function assertFile({ headers }: Response, type: string, name: string): void {
      assert.equal(headers.get('content-type'), `${type}; charset=utf-8`)
      assert.equal(headers.get('content-disposition'), `attachment; filename="${name}"`)
      assert.match(headers.get('vary') ?? '', /\bAccept\b/)
    }

    it('decision: GET /books as text/csv has the books that are asked for, in their order, and HEAD its header', async () => {
      const author = `CSV, ${Math.random()}`
      const { books, path } = await create(author)
      const response = await get(`${path}&sort=-id`, 'text/csv')
      assertFile(response, 'text/csv', 'books.csv')
      const field = (text: string) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
      const rows = books
        .toReversed()
        .map(({ id, title, year }) => `${id},${field(title)},"${author}",${year}\r\n`)
      assert.equal(await response.text(), `id,title,author,year\r\n${rows.join('')}`)
      const head = await get('/books', 'text/csv', 'HEAD')
      assertFile(head, 'text/csv', 'books.csv')
      assert.equal(await head.text(), '')
    })

    it('decision: GET /books as application/x-ndjson has one book in each line; a limit makes it a page with a Link', async () => {
      const { books, path } = await create(`NDJSON ${Math.random()}`)
      const response = await get(path, 'application/x-ndjson')
      assertFile(response, 'application/x-ndjson', 'books.ndjson')
      assert.equal(await response.text(), books.map((book) => `${JSON.stringify(book)}\n`).join(''))
      const all = (await (await get('/books', 'application/x-ndjson')).text()).trimEnd().split('\n')
      const ids = new Set(all.map((line) => (JSON.parse(line) as Book).id))
      assert.ok(books.every(({ id }) => ids.has(id)))
      const page = await get(`${path}&limit=2&count=true`, 'application/x-ndjson')
      assert.equal((await page.text()).split('\n').length, 3)
      assert.match(page.headers.get('link') ?? '', /rel="next"/)
      assert.equal(page.headers.get('x-total-count'), `${books.length}`)
    })

    it('decision: with spreadsheet, CSV has a byte order mark and guarded formulas', async () => {
      const author = `=Sheet ${Math.random()}`
      const { path } = await create(author, ['=1+1', 'Ü;-1', "'@"])
      const textOf = async (path: string) =>
        Buffer.from(await (await get(path, 'text/csv')).arrayBuffer()).toString()
      const rows = ["'=1+1", "Ü;'-1", "''@"].map((title, i) => `N,${title},'${author},${-i}\r\n`)
      const sheet = (await textOf(`${path}&spreadsheet=true`)).replaceAll(/^\d+/gm, 'N')
      assert.equal(sheet, `\ufeffbook-catalogue id,title,author,year\r\n${rows.join('')}`)
      const page = await get(`${path}&spreadsheet=true&limit=1`, 'text/csv')
      const next = /<(.*?)>/.exec(page.headers.get('link') ?? '')?.[1]
      assert.match(await textOf(`${next}`), /^\ufeffbook-catalogue id,.*\r\n\d+,Ü;'-1,/)
      assert.equal(await textOf(`${path}&spreadsheet=false`), await textOf(path))
      for (const accept of ['application/json', 'application/x-ndjson', '*/*'])
        assert.deepEqual(await (await get(`${path}&spreadsheet=true`, accept)).json(), {
          status: 400,
          message: 'Invalid query parameter: spreadsheet is only for requests that accept text/csv',
          data: null,
        })
    })

    it('decision: a file without a book is a header in CSV, and empty in NDJSON', async () => {
      const path = '/books?author=nobody+at+all'
      assert.equal(await (await get(path, 'text/csv')).text(), 'id,title,author,year\r\n')
      assert.equal(await (await get(path, 'application/x-ndjson')).text(), '')
    })

    for (const [path, accept, status] of [
      ['/books?limit=1', '*/*', 200],
      ['/books?limit=1', 'application/json, text/csv;q=0.9', 200],
      ['/books?limit=1', 'text/csv;q=0', 200],
      ['/books?limit=0', 'text/csv', 400],
    ] as const)
      it(`decision: GET ${path} with Accept: ${accept} is the envelope`, async () => {
        const response = await get(path, accept)
        assert.equal(response.headers.get('content-type'), 'application/json; charset=utf-8')
        assert.equal(response.headers.get('content-disposition'), null)
        assert.match(response.headers.get('vary') ?? '', /\bAccept\b/)
        assert.equal(((await response.json()) as { status: number }).status, status)
      })
  })
