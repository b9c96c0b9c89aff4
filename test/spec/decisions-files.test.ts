import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { assertInvalidQuery, assertResponse, type Book, type Reply, targets } from './client.ts'
import { useSession } from './session.ts'

const RESULT = {
  source: 'this service',
  encoding: 'utf-8',
  columns: { title: 'title', author: 'author', year: 'year' } as Record<string, string | null>,
  rows: 0,
  added: 0,
  skipped: 0,
  without_year: 0,
  empty: 0,
  faulty: 0,
  faults: [] as { line: number; field: string | null; code: string; reason: string }[],
  preview: [] as string[][],
}
type Result = typeof RESULT

interface Options {
  readonly type?: string
  readonly query?: string
  readonly encoding?: 'latin1'
}

const TEXTS = ['plain', '=1+1', ' spaces ', 'a,b', '"quoted"', 'two\r\nlines', '', '},{"id":1', '文字 🂡']

const CSV = 'text/csv'
const NDJSON = 'application/x-ndjson'
const JSON_ARRAY = 'application/json; charset=utf-8'
const HEADER = 'title,author,year\n'
const IMPORTED = 'Books imported successfully'
const CHECKED = 'File checked, nothing stored'
const WIDTH = 'the number of fields is 1, not 3 as in the first line'
const YEAR = '"x" is not a year (a whole number such as 1979 or -500)'

const GERMAN = { columns: { title: 'Titel', author: 'Autor', year: 'Erscheinungsjahr' } }
const IN_LATIN1 = { type: `${CSV};Charset="windows-1252"`, encoding: 'latin1' } as const
const columns = (mapping: string) => `?columns=${encodeURIComponent(mapping)}`
const jsonBook = (title: string, year: unknown) => JSON.stringify({ id: 7, title, author: '@', year })

/** Files with @ for the author, the years of their books by title, and what else is reported. */
const READ: readonly (readonly [file: string, object, Partial<Result>, Options?])[] = [
  [
    'id,title,author,year\r\n7,=1+1,@,-5\r7,"a ""b""\n, c",@,2000\n',
    { '=1+1': -5, 'a "b"\n, c': 2000 },
    RESULT,
  ],
  [`[\n  ${jsonBook('[{"', 1)},${jsonBook('T', 2)}\n]`, { '[{"': 1, T: 2 }, {}, { type: JSON_ARRAY }],
  [
    'Titel;Autor;Erscheinungsjahr\nÜ;@;1962\n;;\n; ;\n',
    { Ü: 1962 },
    { ...GERMAN, source: 'another program', empty: 2 },
  ],
  [`${HEADER}Gr\xfc\xdfe \x80,@,1\n`, { 'Grüße €': 1 }, { encoding: 'windows-1252' }, IN_LATIN1],
  [
    'Titel;Name, Vorname;"=a ""b""&+";Jahr\nT;@;x;c1999\nU;@;;\n',
    { T: 1999, U: 0 },
    { columns: { title: 'Titel', author: 'Name, Vorname', year: 'Jahr' }, without_year: 1 },
    { query: columns('title=Titel,author="Name, Vorname",year=Jahr') },
  ],
  [
    '@,T,c1999\r\n@,U,\r\n',
    { T: 1999, U: 0 },
    { columns: { title: '2', author: '1', year: '3' }, without_year: 1 },
    { query: `${columns('title=2,author=1,year=3')}&header=false` },
  ],
]

/** Files, and why they are refused. */
const REFUSED: readonly (readonly [file: string, reason: string, Options?])[] = [
  ['', 'the file is empty; it needs a first line with the column names', { query: '?dry_run=true' }],
  [`${HEADER}"a\nb",@,1\nT,@,x\nT\n`, `2 of 3 rows cannot be stored; line 4: year: ${YEAR}`],
  [
    `[${jsonBook('T', 1)},\n${jsonBook('T', 'x')}, {}]`,
    `2 of 3 rows cannot be stored; line 2: year: ${YEAR} (item 2)`,
    { type: JSON_ARRAY },
  ],
  [
    `${HEADER}x,"b" y,1\n${'T,@,1\n'.repeat(3)}`,
    'line 2: the row has a quotation mark in the wrong place, or one that is not closed; the end of the row ' +
      'cannot be determined',
    { query: '?skip_faulty=true&dry_run=true' },
  ],
  [
    `${HEADER}T,@,1\nGr\xfc\xdfe,@,1\n`,
    '1 of 2 rows cannot be stored; line 3: title: "Gr\ufffd\ufffde" is not in UTF-8; the file seems to be in another ' +
      'encoding, such as Windows-1252 or ISO 8859-1; save it as UTF-8, or name its encoding',
    { encoding: 'latin1' },
  ],
]

for (const target of targets())
  describe(`decisions on exports and imports (${target.name})`, () => {
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

    const authors: string[] = []

    /** An author whose books are deleted in the end. */
    function newAuthor(): string {
      const author = `Imported x${crypto.randomUUID()}`
      authors.push(author)
      return author
    }
    const send = (text: string | Buffer<ArrayBuffer>, query = '', type = CSV): Promise<Reply<Result>> =>
      session.call<Result>('POST', `/books/import${query}`, { text, headers: { 'content-type': type } })

    const sendFile = (file: string, author: string, { query, type, encoding }: Options = {}) =>
      send(Buffer.from(file.replaceAll('@', author), encoding), query, type)

    async function expectReport(reply: Promise<Reply<Result>>, message: string, report: Partial<Result>) {
      assertResponse(await reply, 200, message, { ...RESULT, ...report })
    }
    /** Counts of a successful import. */
    async function counts(reply: Promise<Reply<Result>>, ...names: (keyof Result)[]) {
      const { status, body } = await reply
      assert.equal(status, 200, body.message)
      return names.map((name) => body.data[name])
    }

    const list = async (author: string) =>
      (await session.call<Book[]>('GET', `/books?author=${encodeURIComponent(author)}`)).body.data
    const stored = async (author: string) => (await list(author)).map(({ title, year }) => [title, year])
    async function removeAll(author: string): Promise<void> {
      for (const { id } of await list(author)) await session.remove(id)
    }
    after(async () => {
      for (const author of authors) await removeAll(author)
    })

    for (const [file, books, report, options] of READ)
      it(`decision: POST /books/import stores the books of a file in their order: ${JSON.stringify(file)}`, async () => {
        const author = newAuthor()
        const { message, data } = (await sendFile(file, author, options)).body
        assert.equal(message, IMPORTED)
        const expected = Object.entries(books)
        const { length: added } = expected
        assert.partialDeepStrictEqual(data, { ...report, rows: added, added })
        assert.deepEqual(await stored(author), expected)
      })

    for (const [file, reason, options] of REFUSED)
      it(`decision: a file is refused as a whole, and the message says why: ${reason}`, async () => {
        const author = newAuthor()
        assertResponse(await sendFile(file, author, options), 400, `Import refused: ${reason}`)
        assert.deepEqual(await stored(author), [])
      })

    for (const [type, query] of [
      [CSV, ''],
      [NDJSON, ''],
      [CSV, '&spreadsheet=true'],
    ] as const)
      it(`decision: an export that is imported is the same export: ${type} ${query}`, async () => {
        const author = newAuthor()
        const rows = ['" ",@,0', '"x\r\n""y""",@,-9007199254740991', '=1+1,@,-1', 'Ü;-1,@,0', "'@,@,1"]
        await sendFile(`${HEADER}${rows.join('\n')}`, author)
        const before = await stored(author)
        const path = `/books?author=${encodeURIComponent(author)}${query}`
        const file = Buffer.from(await (await session.fetch(path, { accept: type })).arrayBuffer())
        assert.deepEqual(await counts(send(file, '', type), 'source', 'skipped'), ['this service', 5])
        await removeAll(author)
        assert.deepEqual(await counts(send(file, '', type), 'source', 'added'), ['this service', 5])
        assert.deepEqual(await stored(author), before)
      })

    it('decision: dry_run answers 200 with all faults, and stores nothing', async () => {
      const author = newAuthor()
      const text = `${HEADER}T,${author},1\nT,${author},x\nT\n`
      await expectReport(send(text, '?dry_run=true'), CHECKED, {
        rows: 3,
        faulty: 2,
        faults: [
          { line: 3, field: 'year', code: 'wrong_type', reason: YEAR },
          { line: 4, field: null, code: 'wrong_field_count', reason: WIDTH },
        ],
        preview: [['title', 'author', 'year'], ['T', author, '1'], ['T', author, 'x'], ['T']],
      })
      const good = `${HEADER}T,${author},1\n`
      assert.deepEqual(await counts(send(good, '?dry_run=true'), 'added'), [1])
      assert.deepEqual(await stored(author), [])
    })

    it('decision: a dry run answers 200 with the columns that were found, even if a field has none', async () => {
      const reason =
        'the file has the columns "Name", "Author", and none that is known to be the title or the year; name them, ' +
        'or say that there are no years, with ?columns=title=Titel,year=Jahr or ?columns=title=Titel,year='
      for (const query of ['?dry_run=true', '?dry_run=true&skip_faulty=true'])
        await expectReport(send('\nName,Author\nT,A\nU\n', query), CHECKED, {
          source: 'another program',
          columns: { title: null, author: 'Author', year: null },
          faulty: 1,
          faults: [{ line: 2, field: null, code: 'columns', reason }],
          preview: [['Name', 'Author'], ['T', 'A'], ['U']],
        })
      const named = send('Name,Author\nT,A\n', '?dry_run=true&columns=title%3DNAME,year%3D')
      assert.deepEqual(await counts(named, 'columns'), [{ title: 'Name', author: 'Author', year: null }])
    })

    it('decision: skip_faulty stores the good rows, and reports the others', async () => {
      const author = newAuthor()
      const text = `Title,Author,Additional Authors,Year Published\nT,${author},,1\nT\nU,${author},,\n"V\0",${author},,\n`
      const reason = '"V\\u0000" contains a NUL character'
      const report = {
        source: 'Goodreads',
        columns: { title: 'Title', author: 'Author', year: 'Year Published' },
        rows: 4,
        added: 2,
        without_year: 1,
        faulty: 2,
        faults: [
          { line: 3, field: null, code: 'wrong_field_count', reason: WIDTH.replace('3', '4') },
          { line: 5, field: 'title', code: 'invalid_character', reason },
        ],
      }
      await expectReport(send(text, '?skip_faulty=true'), IMPORTED, report)
      const again = counts(send(text, '?skip_faulty=true'), 'added', 'skipped', 'faulty')
      assert.deepEqual(await again, [0, 2, 2])
      assert.deepEqual(await stored(author), [
        ['T', 1],
        ['U', 0],
      ])
      assert.equal((await send(text, '?skip_faulty=false')).status, 400)
    })

    it('decision: an import that is repeated adds nothing, unless skip_existing=false says so', async () => {
      const author = newAuthor()
      const text = `${HEADER}T,${author},1\nT,${author},1\nU,${author},1\n`
      for (const [file, query, ...expected] of [
        [text, '', 3, 0],
        [`${text}V,${author},1\n`, '?skip_existing=true&dry_run=false', 1, 3],
        [text, '?dry_run=true', 0, 3],
        [text, '?skip_existing=false', 3, 0],
      ] as const)
        assert.deepEqual(await counts(send(file, query), 'added', 'skipped'), expected)
      assert.equal((await stored(author)).length, 7)
    })

    it('decision: another Content-Type or an unknown charset is 415, another parameter 400, and §5.5 a bad token 401', async () => {
      for (const type of ['application/xml', 'text/csv2', `${CSV}; charset=x`, `${CSV};charset="x`])
        assertResponse(await send(HEADER, '?dry_run=true', type), 415, 'Unsupported media type')
      for (const query of [
        ...['dry_run=1', 'dry_run', 'dry_run=true&', 'DRY_RUN=true', 'dry_run=true&dry_run=true'],
        ...['limit=1', 'columns=', 'columns=id=Nr', 'columns=title=a,title=b', 'header=no'],
      ])
        assertInvalidQuery(await send(HEADER, `?${query}`))
      const options = { text: HEADER, headers: { 'content-type': CSV }, token: 'x' }
      await session.expect('POST', '/books/import', options, 401, 'Invalid token')
    })
  })
