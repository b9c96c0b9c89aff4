import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import { assertInvalidQuery, assertResponse, type Book, type Reply, type Target, targets } from './client.ts'
import { useSession } from './session.ts'

interface Result {
  readonly source: string
  readonly encoding: string
  readonly columns: { readonly [Field in 'title' | 'author' | 'year']: string | null }
  readonly rows: number
  readonly added: number
  readonly skipped: number
  readonly without_year: number
  readonly empty: number
  readonly faulty: number
  readonly faults: readonly { line: number; field: string | null; code: string; reason: string }[]
  readonly preview: readonly (readonly string[])[]
}

const CSV = 'text/csv'
const NDJSON = 'application/x-ndjson'
const OWN_COLUMNS = { title: 'title', author: 'author', year: 'year' }
const WIDTH = 'the number of fields is 1, not 3 as in the first line'
const YEAR = '"x" is not a year (a whole number such as 1979 or -500)'

for (const target of targets()) testImports(target)

function testImports(target: Target): void {
  describe(`decisions on imports (${target.name})`, () => {
    const session = useSession(target)
    const author = `Imported ${Math.random()}`

    const send = (text: string, type = CSV, query = ''): Promise<Reply<Result>> =>
      session.call<Result>('POST', `/books/import${query}`, { text, headers: { 'content-type': type } })

    async function stored(): Promise<Book[]> {
      const reply = await session.call<Book[]>('GET', `/books?author=${encodeURIComponent(author)}`)
      assertResponse(reply, 200, 'Books retrieved successfully')
      return reply.body.data
    }
    async function removeAll(): Promise<void> {
      for (const { id } of await stored()) await session.call('DELETE', `/book/${id}`)
    }
    after(removeAll)

    it('decision: POST /books/import stores the books of a CSV file in their order', async () => {
      await removeAll()
      const reply = await send(
        `id,title,author,year\r\n7,=1+1,${author},-5\r\n7,"a ""b""\n, c",${author},2000\r\n`,
      )
      assertResponse(reply, 200, 'Books imported successfully', {
        source: 'this service',
        encoding: 'utf-8',
        columns: OWN_COLUMNS,
        rows: 2,
        added: 2,
        skipped: 0,
        without_year: 0,
        empty: 0,
        faulty: 0,
        faults: [],
        preview: [],
      })
      assert.deepEqual(
        (await stored()).map(({ title, year }) => [title, year]),
        [
          ['=1+1', -5],
          ['a "b"\n, c', 2000],
        ],
      )
    })

    it('decision: rows whose cells are all blank are no books, and counted', async () => {
      await removeAll()
      for (const header of ['TITLE;AUTHOR;YEAR', 'Title;Author;Publication Year']) {
        const text = `${header}\nT;${author};1999\n;;\n; ;\n`
        const { data } = (await send(text, CSV, '?skip_existing=false')).body
        assert.deepEqual([data.rows, data.added, data.without_year, data.empty, data.faulty], [1, 1, 0, 2, 0])
      }
      assert.equal((await stored()).length, 2)
    })

    it('decision: an export that is imported is the same export', async () => {
      await removeAll()
      for (const type of [CSV, NDJSON]) {
        await send(`title,author,year\n" ",${author},0\n"x\r\n""y""",${author},-9007199254740991\n`)
        const path = `/books?author=${encodeURIComponent(author)}`
        const read = async () => {
          const headers = { authorization: session.token, accept: type }
          return (await fetch(target.url + path, { headers })).text()
        }
        const withoutIds = (text: string) => text.replace(/^(\{"id":)?\d+,/gm, '')
        const first = await read()
        await removeAll()
        assert.equal((await send(first, `${type}; charset=utf-8`)).status, 200)
        assert.equal(withoutIds(await read()), withoutIds(first))
        await removeAll()
      }
    })

    it('decision: CSV for spreadsheets is imported with the texts as they were', async () => {
      await removeAll()
      const text = `title,author,year\n=1+1,${author},-1\nÜ;-1,${author},0\n'@,${author},1\n`
      assert.equal((await send(text)).status, 200)
      const path = `/books?author=${encodeURIComponent(author)}&spreadsheet=true`
      const headers = { authorization: session.token, accept: CSV }
      const sheet = await (await fetch(target.url + path, { headers })).text()
      assert.match(sheet, /,'=1\+1,.*,Ü;'-1,.*,''@,/s)
      const { data } = (await send(sheet, CSV, '?skip_existing=true')).body
      assert.deepEqual([data.source, data.added, data.skipped], ['this service', 0, 3])
    })

    it('decision: each line of a CSV file ends with CR LF, LF or CR', async () => {
      await removeAll()
      const text = `title,year,author\r\nT,1,${author}\nU,2,${author}\rV,3,"${author}"\r\n`
      assert.equal((await send(text)).body.data.added, 3)
      assert.deepEqual(
        (await stored()).map((book) => [book.title, book.year, book.author]),
        [
          ['T', 1, author],
          ['U', 2, author],
          ['V', 3, author],
        ],
      )
    })

    it('decision: the first line tells what separates the fields: commas, semicolons or tabs', async () => {
      await removeAll()
      for (const text of [
        `title;author;year\nT;${author};1\n`,
        `title\tauthor\tyear\nT\t${author}\t1\n`,
        `sep=;\r\ntitle;author;year\r\n"T";${author};1\r\n`,
      ]) {
        assert.equal((await send(text, CSV, '?skip_existing=false')).body.data.added, 1)
      }
      assert.equal((await stored()).length, 3)
    })

    it('decision: a file of another kind is 400, and the message names it', async () => {
      for (const [text, type, message] of [
        ['PK\u0003\u0004', CSV, /^Import refused: the file is a spreadsheet .*; save it as CSV in UTF-8$/],
        [
          '[{"title":"T","author":"A","year":1}]',
          CSV,
          /^Import refused: the file seems to be JSON, not CSV; /,
        ],
        [
          '[{"title":"T","author":"A","year":1}]',
          NDJSON,
          /; line 1: is a JSON array; a file of one array is read if its name ends with .json, or its type is/,
        ],
      ] as const) {
        for (const query of ['', '?dry_run=true']) {
          const reply = await send(text, type, query)
          if (reply.status === 200) assert.match(`; line 1: ${reply.body.data.faults[0]?.reason}`, message)
          else assert.match(reply.body.message, message)
        }
      }
    })

    it('decision: bytes that are not UTF-8 are ignored in columns that are not used, and refused in the others', async () => {
      await removeAll()
      const sendBytes = (text: string) =>
        fetch(`${target.url}/books/import`, {
          method: 'POST',
          headers: { authorization: session.token, 'content-type': CSV },
          body: Buffer.from(text, 'latin1'),
        })
      const header = 'Title\tPrimary Author\tReview\tDate\n'
      assert.equal((await sendBytes(`${header}T\t${author}\tGr\xfc\xdfe\t1\n`)).status, 200)
      assert.equal((await stored()).length, 1)
      const refused = await sendBytes(`${header}U\t${author}\t\t1\nGr\xfc\xdfe\t${author}\t\t1\n`)
      assert.deepEqual(await refused.json(), {
        status: 400,
        message:
          'Import refused: 1 of 2 rows cannot be stored; line 3: title: "Gr\ufffd\ufffde" is not in UTF-8; the file ' +
          'seems to be in another encoding, such as Windows-1252 or ISO 8859-1; save it as UTF-8, or name its encoding',
        data: null,
      })
      assert.equal((await stored()).length, 1)
    })

    it('decision: a JSON array of objects is imported like NDJSON', async () => {
      await removeAll()
      const type = 'application/json; charset=utf-8'
      const book = (title: string, year: unknown) => JSON.stringify({ id: 7, title, author, year })
      const reply = await send(`[\n  ${book('[{"', 1)},${book('T', 2)}\n]`, type)
      assert.deepEqual(
        [reply.status, reply.body.data.added, reply.body.data.source],
        [200, 2, 'this service'],
      )
      assert.deepEqual(
        (await stored()).map(({ title, year }) => [title, year]),
        [
          ['[{"', 1],
          ['T', 2],
        ],
      )
      const bad = await send(`[${book('T', 1)},\n${book('T', 'x')}, {}]`, type)
      const summary = `2 of 3 rows cannot be stored; line 2: year: ${YEAR} (item 2)`
      assertResponse(bad, 400, `Import refused: ${summary}`, null)
      const whole = await send(book('T', 1), type)
      assert.match(
        whole.body.message,
        /^Import refused: line 1: the file has ".*" where a JSON array of objects has/,
      )
      assert.equal((await stored()).length, 2)
    })

    it('decision: the charset of the media type is the encoding; an unknown one is 415', async () => {
      await removeAll()
      const sendBytes = async (charset: string, text: Buffer, query = '') => {
        const headers = { authorization: session.token, 'content-type': `${CSV}${charset}` }
        const init = { method: 'POST', headers, body: text }
        return (await fetch(`${target.url}/books/import${query}`, init)).json() as Promise<{
          message: string
        }>
      }
      const latin1 = (text: string) => Buffer.from(text, 'latin1')
      const row = latin1(`title,author,year\nGr\xfc\xdfe \x80,${author},1\n`)
      const good = [
        await sendBytes('; charset=windows-1252', row),
        await sendBytes(';Charset="ISO-8859-1"', row, '?skip_existing=false'),
        await sendBytes('; charset=shift_jis', latin1(`title,author,year\n\x8f\x91,${author},2\n`)),
      ]
      assert.deepEqual(
        good.map(({ message }) => message),
        Array(3).fill('Books imported successfully'),
      )
      assert.deepEqual(
        (await stored()).map(({ title }) => title),
        ['Grüße €', 'Grüße €', '書'],
      )
      for (const charset of ['', '; charset=utf-8', '; charset=us-ascii', '; charset=utf-16']) {
        assert.match(
          (await sendBytes(charset, row)).message,
          /"Gr.*" is not in UTF-8; the file seems to be in another/,
        )
      }
      const bad = await sendBytes('; charset=shift_jis', latin1(`title,author,year\n\x8f,${author},2\n`))
      assert.match(
        bad.message,
        /line 2: title: "." is not in the encoding that was named; name the right one, or correct this text$/,
      )
      for (const charset of ['; charset=windows-9999', ';charset="x']) {
        const refused = await sendBytes(charset, row, '?dry_run=true')
        assert.deepEqual(refused, { status: 415, message: 'Unsupported media type', data: null })
      }
      assert.equal((await stored()).length, 3)
    })

    it('decision: with a bad row nothing is stored; the message has their number and the first', async () => {
      await removeAll()
      const csv = await send(`title,author,year\n"a\nb",${author},1\nT,${author},x\nT\n`)
      assertResponse(csv, 400, `Import refused: 2 of 3 rows cannot be stored; line 4: year: ${YEAR}`, null)
      const ndjson = await send(
        `{"title":"T","author":${JSON.stringify(author)},"year":1}\n{"title":1}\n`,
        NDJSON,
      )
      assertResponse(
        ndjson,
        400,
        'Import refused: 1 of 2 rows cannot be stored; line 2: title: 1 is not text',
        null,
      )
      assert.deepEqual(await stored(), [])
    })

    it('decision: a file that cannot be read is 400 with the reason', async () => {
      assertResponse(
        await send('Author,Title\nA,T\n'),
        400,
        'Import refused: the file has the columns "Author", "Title", and none that is known to be the year; name it, or say ' +
          'that there are no years, with ?columns=year=Jahr or ?columns=year=',
        null,
      )
      assert.match((await send('')).body.message, /^Import refused: the file is empty/)
      assert.equal((await send('', CSV, '?dry_run=true')).status, 400)
    })

    it('decision: dry_run answers 200 with all faults, and stores nothing', async () => {
      await removeAll()
      const text = `title,author,year\nT,${author},1\nT,${author},x\nT\n`
      const reply = await send(text, CSV, '?dry_run=true')
      assertResponse(reply, 200, 'File checked, nothing stored', {
        source: 'this service',
        encoding: 'utf-8',
        columns: OWN_COLUMNS,
        rows: 3,
        added: 0,
        skipped: 0,
        without_year: 0,
        empty: 0,
        faulty: 2,
        faults: [
          { line: 3, field: 'year', code: 'wrong_type', reason: YEAR },
          { line: 4, field: null, code: 'wrong_field_count', reason: WIDTH },
        ],
        preview: [['title', 'author', 'year'], ['T', author, '1'], ['T', author, 'x'], ['T']],
      })
      const good = await send(`title,author,year\nT,${author},1\n`, CSV, '?dry_run=true')
      assert.deepEqual([good.body.message, good.body.data.added], ['File checked, nothing stored', 1])
      assert.deepEqual(await stored(), [])
    })

    it('decision: a dry run answers 200 with the columns that were found, even if a field has none', async () => {
      for (const query of ['?dry_run=true', '?dry_run=true&skip_faulty=true']) {
        const reply = await send('\nName,Author\nT,A\nU\n', CSV, query)
        assertResponse(reply, 200, 'File checked, nothing stored', {
          source: 'another program',
          encoding: 'utf-8',
          columns: { title: null, author: 'Author', year: null },
          rows: 0,
          added: 0,
          skipped: 0,
          without_year: 0,
          empty: 0,
          faulty: 1,
          faults: [
            {
              line: 2,
              field: null,
              code: 'columns',
              reason:
                'the file has the columns "Name", "Author", and none that is known to be the title or the year; name them, ' +
                'or say that there are no years, with ?columns=title=Titel,year=Jahr or ?columns=title=Titel,year=',
            },
          ],
          preview: [['Name', 'Author'], ['T', 'A'], ['U']],
        })
      }
      const named = await send('Name,Author\nT,A\n', CSV, '?dry_run=true&columns=title%3DNAME,year%3D')
      const { columns, added } = named.body.data
      assert.deepEqual([columns, added], [{ title: 'Name', author: 'Author', year: null }, 1])
    })

    it('decision: skip_faulty stores the good rows, and reports the others', async () => {
      await removeAll()
      const text = `Title,Author,Year Published\nT,${author},1\nT\nU,${author},\n"V\0",${author},\nT,${author},1\n`
      const faults = [
        { line: 3, field: null, code: 'wrong_field_count', reason: WIDTH },
        { line: 5, field: 'title', code: 'invalid_character', reason: '"V\\u0000" contains a NUL character' },
      ]
      const counts = {
        source: 'Goodreads',
        encoding: 'utf-8',
        columns: { title: 'Title', author: 'Author', year: 'Year Published' },
        rows: 5,
        added: 3,
        skipped: 0,
        without_year: 1,
        empty: 0,
        faulty: 2,
        faults,
        preview: [],
      }
      const dry = await send(text, CSV, '?skip_faulty=true&dry_run=true')
      const preview = text
        .replaceAll('"', '')
        .trim()
        .split('\n')
        .map((line) => line.split(','))
      assertResponse(dry, 200, 'File checked, nothing stored', { ...counts, preview })
      assert.deepEqual(await stored(), [])
      assertResponse(await send(text, CSV, '?skip_faulty=true'), 200, 'Books imported successfully', counts)
      const again = await send(text, CSV, '?skip_faulty=true&skip_existing=true')
      assert.deepEqual([again.body.data.added, again.body.data.skipped, again.body.data.faulty], [0, 3, 2])
      assert.deepEqual(
        (await stored()).map(({ title, year }) => [title, year]),
        [
          ['T', 1],
          ['U', 0],
          ['T', 1],
        ],
      )
      const bad = `title,author,year\nT,${author},1\n${'x\n'.repeat(10_000)}`
      for (const query of ['?skip_faulty=true', '?skip_faulty=true&dry_run=true'])
        assert.match(
          (await send(bad, CSV, query)).body.message,
          /^Import refused: 10000 of 10001 rows cannot be stored; line 3: /,
        )
      assert.equal((await send(text, CSV, '?skip_faulty=false')).status, 400)
      assert.equal((await stored()).length, 3)
    })

    it('decision: skip_faulty leaves out no row that is not bad: a file is refused if a row may have joined others, or if it cannot be read to its end', async () => {
      await removeAll()
      const rows = `T,${author},1\n`.repeat(3)
      for (const [text, type, reason] of [
        [
          `title,author,year\nx,"b" y,1\n${rows}`,
          CSV,
          /line 2: the row has a quotation mark in the wrong place, .*; the end of the row cannot be determined$/,
        ],
        [
          `title,author,year\nx,"open,1\n${rows}`,
          CSV,
          /line 2: the row has a quotation mark in the wrong place, .*; the end of the row cannot be determined$/,
        ],
        [`[{"title":1},{"title":"T","author":"${author}","year":1}`, 'application/json', /is not closed/],
      ] as const) {
        for (const query of ['?skip_faulty=true', '?skip_faulty=true&dry_run=true']) {
          const { status, body } = await send(text, type, query)
          assert.equal(status, 400)
          assert.match(body.message, reason)
        }
      }
      assert.equal((await stored()).length, 0)
      // This row is whole.
      const one = await send(`title,author,year\nx,"b" y,"1"\n${rows}`, CSV, '?skip_faulty=true')
      assert.deepEqual([one.body.data.added, one.body.data.faulty], [3, 1])
    })

    it('decision: an import that is repeated adds nothing, unless skip_existing=false says so', async () => {
      await removeAll()
      const text = `title,author,year\nT,${author},1\nT,${author},1\nU,${author},1\n`
      const first = await send(text)
      assert.deepEqual([first.body.data.added, first.body.data.skipped], [3, 0])
      const second = await send(`${text}V,${author},1\n`, CSV, '?skip_existing=true&dry_run=false')
      assert.deepEqual([second.body.data.added, second.body.data.skipped], [1, 3])
      for (const query of ['', '?dry_run=true']) {
        const { added, skipped } = (await send(text, CSV, query)).body.data
        assert.deepEqual([added, skipped], [0, 3])
      }
      assert.equal((await stored()).length, 4)
      const all = await send(text, CSV, '?skip_existing=false')
      assert.deepEqual([all.body.data.added, all.body.data.skipped], [3, 0])
      assert.equal((await stored()).length, 7)
    })

    it('decision: columns names the columns of a CSV file, and the others are as without it', async () => {
      await removeAll()
      const columns = (mapping: string) => `?columns=${encodeURIComponent(mapping)}`
      const text = `Titel;Name, Vorname;"=a ""b""&+";Jahr\nT;${author};x;c1999\nU;${author};;\n`
      const named = await send(text, CSV, columns('title=Titel,author="Name, Vorname",year=Jahr'))
      assertResponse(named, 200, 'Books imported successfully', {
        source: 'another program',
        encoding: 'utf-8',
        columns: { title: 'Titel', author: 'Name, Vorname', year: 'Jahr' },
        rows: 2,
        added: 2,
        skipped: 0,
        without_year: 1,
        empty: 0,
        faulty: 0,
        faults: [],
        preview: [],
      })
      const some = await send(`title,year,"=a ""b""&+"\nV,2,${author}\n`, CSV, columns('author==a "b"&+'))
      assert.equal(some.body.data.added, 1)
      assert.equal((await send(`title,author\nW,${author}\n`, CSV, '?columns=year=')).body.data.added, 1)
      assert.deepEqual(
        (await stored()).map(({ title, year }) => [title, year]),
        [
          ['T', 1999],
          ['U', 0],
          ['V', 2],
          ['W', 0],
        ],
      )
      const missing = await send('title,author,year\n', CSV, '?columns=year=Jahr&dry_run=true')
      const reason = 'there is no column "Jahr"; the file has the columns "title", "author", "year"'
      assertResponse(missing, 400, `Import refused: ${reason}`, null)
      const lines = await send('{}', NDJSON, '?columns=year=Jahr')
      assertResponse(lines, 400, 'Import refused: columns can be named only for CSV', null)
    })

    it('decision: the columns of other CSV files are told by their names, in several languages', async () => {
      await removeAll()
      for (const [header, row] of [
        ['Titel;Autor;Erscheinungsjahr', `Ü;${author};1962`],
        ['ANNEE,Auteur(s),titre', `vers 1962,${author},Ü`],
        ['书名,作者,出版年', `Ü,${author},1962-05-01`],
      ]) {
        const reply = await send(`${header}\n${row}\n`, CSV, '?skip_existing=false')
        assert.deepEqual([reply.status, reply.body.data?.source], [200, 'another program'])
      }
      const books = await stored()
      assert.deepEqual(
        books.map(({ title, year }) => [title, year]),
        Array(3).fill(['Ü', 1962]),
      )
      const text = `Title,Titel,Author,Jahr\nT,U,${author},1\n`
      assertResponse(
        await send(text),
        400,
        'Import refused: the columns "title" and "titel" may both be the title; name the right one with ?columns=title="title"',
        null,
      )
      assert.equal((await send(text, CSV, '?columns=title=%22titel%22')).body.data.added, 1)
      assert.equal((await stored())[3]?.title, 'U')
    })

    it("decision: a year that another program's export does not tell for certain is 0, and counted", async () => {
      await removeAll()
      const years = ['9/16/2006', '5/1/1999', '1st ed. 1999', '1,999', '18th century', '1998/1999', '']
      const rows = years.map((year) => `T,${author},"${year}"\n`).join('')
      const reply = await send(`Title,Author,Year Published\n${rows}`)
      assert.equal(reply.status, 200)
      assert.equal(reply.body.data.without_year, 4)
      assert.deepEqual(
        (await stored()).map(({ year }) => year),
        [2006, 1999, 1999, 0, 0, 0, 0],
      )
    })

    it('decision: dates before our era in such an export have a minus, BC or BCE, or are unknown', async () => {
      await removeAll()
      const rows = ['-750', '750 BC', '750 BCE', '-0749-01-01']
        .map((year) => `T,${author},${year}\n`)
        .join('')
      const reply = await send(`Title,Author,Year Published\n${rows}`)
      assert.equal(reply.status, 200)
      assert.equal(reply.body.data.without_year, 1)
      assert.deepEqual(
        (await stored()).map(({ year }) => year),
        [-750, -750, -750, 0],
      )
    })

    it('decision: another Content-Type is 415, and another parameter 400', async () => {
      for (const type of ['application/xml', 'text/plain', 'csv', 'text/csv2']) {
        assertResponse(await send('title,author,year\n', type), 415, 'Unsupported media type', null)
      }
      const malformed = ['?dry_run', '?dry_run=true&', '?&', '?dry_run=%FF', '?DRY_RUN=true']
      for (const query of [
        '?dry_run=1',
        '?dry_run=',
        '?limit=1',
        '?dry_run=true&dry_run=true',
        '?columns=',
        '?columns=id=Nr',
        '?columns=title=',
        '?columns=title=a,b',
        '?columns=title=a,title=b',
        ...malformed,
      ]) {
        assertInvalidQuery(await send('title,author,year\n', CSV, query), /dry_run|limit|columns|one/i)
      }
    })

    it('§5.5: an import needs a token', async () => {
      const headers = { 'content-type': CSV }
      const reply = await session.call('POST', '/books/import', {
        text: 'title,author,year\n',
        headers,
        token: 'x',
      })
      assertResponse(reply, 401, 'Invalid token', null)
    })
  })
}
