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

const CSV = 'text/csv'
const NDJSON = 'application/x-ndjson'
const JSON_ARRAY = 'application/json; charset=utf-8'
const HEADER = 'title,author,year\n'
const IMPORTED = 'Books imported successfully'
const CHECKED = 'File checked, nothing stored'
const WIDTH = 'the number of fields is 1, not 3 as in the first line'
const YEAR = '"x" is not a year (a whole number such as 1979 or -500)'

for (const target of targets())
  describe(`decisions on imports (${target.name})`, () => {
    const session = useSession(target)
    const authors: string[] = []

    /** An author whose books are deleted in the end. */
    function newAuthor(): string {
      const author = `Imported x${crypto.randomUUID()}`
      authors.push(author)
      return author
    }
    const send = (text: string | Buffer<ArrayBuffer>, query = '', type = CSV): Promise<Reply<Result>> =>
      session.call<Result>('POST', `/books/import${query}`, { text, headers: { 'content-type': type } })

    async function expectReport(reply: Promise<Reply<Result>>, message: string, report: Partial<Result>) {
      assertResponse(await reply, 200, message, { ...RESULT, ...report })
    }
    async function expectRefusal(reply: Promise<Reply<Result>>, reason: string | RegExp): Promise<void> {
      const { status, body } = await reply
      assert.equal(status, 400)
      if (typeof reason === 'string') assert.equal(body.message, `Import refused: ${reason}`)
      else assert.match(body.message.replace('Import refused: ', ''), reason)
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

    after(async () => {
      for (const author of authors)
        for (const { id } of await list(author)) await session.call('DELETE', `/book/${id}`)
    })

    it('decision: POST /books/import stores the books of a CSV file in their order, whichever its line ends', async () => {
      const author = newAuthor()
      const text = `id,title,author,year\r\n7,=1+1,${author},-5\r7,"a ""b""\n, c",${author},2000\n7,T,"${author}",1`
      await expectReport(send(text), IMPORTED, { rows: 3, added: 3 })
      assert.deepEqual(await stored(author), [
        ['=1+1', -5],
        ['a "b"\n, c', 2000],
        ['T', 1],
      ])
    })

    it('decision: the first line tells what separates the fields: commas, semicolons or tabs', async () => {
      const author = newAuthor()
      for (const text of [
        `title;author;year\nT;${author};1\n`,
        `title\tauthor\tyear\nT\t${author}\t1\n`,
        `sep=;\r\ntitle;author;year\r\n"T";${author};1\r\n`,
      ])
        assert.deepEqual(await counts(send(text, '?skip_existing=false'), 'added'), [1])
      assert.equal((await stored(author)).length, 3)
    })

    it('decision: rows whose cells are all blank are no books, and counted', async () => {
      const author = newAuthor()
      for (const header of ['TITLE;AUTHOR;YEAR', 'Title;Author;Publication Year'])
        assert.deepEqual(
          await counts(
            send(`${header}\nT;${author};1999\n;;\n; ;\n`, '?skip_existing=false'),
            ...(['rows', 'added', 'without_year', 'empty', 'faulty'] as const),
          ),
          [1, 1, 0, 2, 0],
        )
    })

    for (const [type, query] of [
      [CSV, ''],
      [NDJSON, ''],
      [CSV, '&spreadsheet=true'],
    ] as const)
      it(`decision: an export that is imported is the same export: ${type} ${query}`, async () => {
        const author = newAuthor()
        const rows = ['" ",A,0', '"x\r\n""y""",A,-9007199254740991', '=1+1,A,-1', 'Ü;-1,A,0', "'@,A,1"]
        await send(HEADER + rows.map((row) => `${row.replace('A', author)}\n`).join(''))
        const before = await stored(author)
        const path = `${target.url}/books?author=${encodeURIComponent(author)}${query}`
        const read = async () =>
          Buffer.from(
            await (
              await fetch(path, { headers: { authorization: session.token, accept: type } })
            ).arrayBuffer(),
          )
        const file = await read()
        assert.deepEqual(await counts(send(file, '', type), 'source', 'skipped'), ['this service', 5])
        for (const { id } of await list(author)) await session.call('DELETE', `/book/${id}`)
        assert.deepEqual(await counts(send(file, '', type), 'source', 'added'), ['this service', 5])
        assert.deepEqual(await stored(author), before)
      })

    it('decision: a JSON array of objects is imported like NDJSON', async () => {
      const author = newAuthor()
      const book = (title: string, year: unknown) => JSON.stringify({ id: 7, title, author, year })
      const good = `[\n  ${book('[{"', 1)},${book('T', 2)}\n]`
      assert.deepEqual(await counts(send(good, '', JSON_ARRAY), 'added', 'source'), [2, 'this service'])
      assert.deepEqual(await stored(author), [
        ['[{"', 1],
        ['T', 2],
      ])
      const bad = send(`[${book('T', 1)},\n${book('T', 'x')}, {}]`, '', JSON_ARRAY)
      await expectRefusal(bad, `2 of 3 rows cannot be stored; line 2: year: ${YEAR} (item 2)`)
      await expectRefusal(
        send(book('T', 1), '', JSON_ARRAY),
        /^line 1: the file has ".*" where a JSON array of objects has/,
      )
      assert.equal((await stored(author)).length, 2)
    })

    for (const [name, text, type, reason] of [
      ['a spreadsheet', 'PK\u0003\u0004', CSV, /^the file is a spreadsheet .*; save it as CSV in UTF-8$/],
      ['JSON', '[{"title":"T","author":"A","year":1}]', CSV, /^the file seems to be JSON, not CSV; /],
      ['an empty file', '', CSV, /^the file is empty/],
    ] as const)
      it(`decision: a file of another kind is 400, and the message names it: ${name}`, async () => {
        for (const query of ['', '?dry_run=true']) await expectRefusal(send(text, query, type), reason)
      })

    it('decision: an array as NDJSON is a bad row, of which the message tells', async () => {
      const array = '[{"title":"T","author":"A","year":1}]'
      const reason =
        /line 1: is a JSON array; a file of one array is read if its name ends with .json, or its type is/
      await expectRefusal(send(array, '', NDJSON), reason)
      const { faults } = (await send(array, '?dry_run=true', NDJSON)).body.data
      assert.match(`line 1: ${faults[0]?.reason}`, reason)
    })

    it('decision: bytes that are not UTF-8 are ignored in columns that are not used, and refused in the others', async () => {
      const author = newAuthor()
      const header = 'Title\tPrimary Author\tReview\tDate\n'
      const latin1 = (text: string) => Buffer.from(header + text, 'latin1')
      assert.equal((await send(latin1(`T\t${author}\tGr\xfc\xdfe\t1\n`))).status, 200)
      await expectRefusal(
        send(latin1(`U\t${author}\t\t1\nGr\xfc\xdfe\t${author}\t\t1\n`)),
        '1 of 2 rows cannot be stored; line 3: title: "Gr\ufffd\ufffde" is not in UTF-8; the file ' +
          'seems to be in another encoding, such as Windows-1252 or ISO 8859-1; save it as UTF-8, or name its encoding',
      )
      assert.deepEqual(await stored(author), [['T', 1]])
    })

    it('decision: the charset of the media type is the encoding; an unknown one is 415', async () => {
      const author = newAuthor()
      const latin1 = (title: string) => Buffer.from(`${HEADER}${title},${author},1\n`, 'latin1')
      const row = latin1('Gr\xfc\xdfe \x80')
      for (const [charset, file, encoding] of [
        ['; charset=windows-1252', row, 'windows-1252'],
        [';Charset="ISO-8859-1"', row, 'windows-1252'],
        ['; charset=shift_jis', latin1('\x8f\x91'), 'shift_jis'],
      ] as const)
        assert.deepEqual(
          await counts(send(file, '?skip_existing=false', CSV + charset), 'added', 'encoding'),
          [1, encoding],
        )
      assert.deepEqual(
        (await stored(author)).map(([title]) => title),
        ['Grüße €', 'Grüße €', '書'],
      )
      for (const charset of ['', '; charset=us-ascii', '; charset=utf-16'])
        await expectRefusal(
          send(row, '', CSV + charset),
          /"Gr.*" is not in UTF-8; the file seems to be in another/,
        )
      await expectRefusal(
        send(latin1('\x8f'), '', `${CSV}; charset=shift_jis`),
        /line 2: title: "." is not in the encoding that was named; name the right one, or correct this text$/,
      )
      for (const charset of ['; charset=windows-9999', ';charset="x'])
        assertResponse(await send(row, '?dry_run=true', CSV + charset), 415, 'Unsupported media type')
    })

    it('decision: with a bad row nothing is stored; the message has their number and the first', async () => {
      const author = newAuthor()
      await expectRefusal(
        send(`${HEADER}"a\nb",${author},1\nT,${author},x\nT\n`),
        `2 of 3 rows cannot be stored; line 4: year: ${YEAR}`,
      )
      await expectRefusal(
        send(`{"title":"T","author":"${author}","year":1}\n{"title":1}\n`, '', NDJSON),
        '1 of 2 rows cannot be stored; line 2: title: 1 is not text',
      )
      assert.deepEqual(await stored(author), [])
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
      for (const query of ['?dry_run=true', '?dry_run=true&skip_faulty=true'])
        await expectReport(send('\nName,Author\nT,A\nU\n', query), CHECKED, {
          source: 'another program',
          columns: { title: null, author: 'Author', year: null },
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
      const named = send('Name,Author\nT,A\n', '?dry_run=true&columns=title%3DNAME,year%3D')
      const columns = { title: 'Name', author: 'Author', year: null }
      assert.deepEqual(await counts(named, 'columns', 'added'), [columns, 1])
    })

    it('decision: skip_faulty stores the good rows, and reports the others', async () => {
      const author = newAuthor()
      const text = `Title,Author,Year Published\nT,${author},1\nT\nU,${author},\n"V\0",${author},\nT,${author},1\n`
      const report = {
        source: 'Goodreads',
        columns: { title: 'Title', author: 'Author', year: 'Year Published' },
        rows: 5,
        added: 3,
        without_year: 1,
        faulty: 2,
        faults: [
          { line: 3, field: null, code: 'wrong_field_count', reason: WIDTH },
          {
            line: 5,
            field: 'title',
            code: 'invalid_character',
            reason: '"V\\u0000" contains a NUL character',
          },
        ],
      }
      const lines = text.replaceAll('"', '').trim().split('\n')
      const preview = lines.map((line) => line.split(','))
      await expectReport(send(text, '?skip_faulty=true&dry_run=true'), CHECKED, { ...report, preview })
      assert.deepEqual(await stored(author), [])
      await expectReport(send(text, '?skip_faulty=true'), IMPORTED, report)
      const again = counts(send(text, '?skip_faulty=true'), 'added', 'skipped', 'faulty')
      assert.deepEqual(await again, [0, 3, 2])
      assert.deepEqual(await stored(author), [
        ['T', 1],
        ['U', 0],
        ['T', 1],
      ])
      await expectRefusal(send(text, '?skip_faulty=false'), /^2 of 5 rows/)
    })

    it('decision: a file with 10,000 bad rows is refused in spite of skip_faulty, and not read to its end', async () => {
      const bad = `${HEADER}T,A,1\n${'x\n'.repeat(20_000)}`
      for (const query of ['?skip_faulty=true', '?skip_faulty=true&dry_run=true'])
        await expectRefusal(send(bad, query), /^10000 of 10001 rows cannot be stored; line 3: /)
    })

    it('decision: skip_faulty leaves out no row that is not bad: a file is refused if a row may have joined others, or if it cannot be read to its end', async () => {
      const author = newAuthor()
      const rows = `T,${author},1\n`.repeat(3)
      const joined =
        /line 2: the row has a quotation mark in the wrong place, .*; the end of the row cannot be determined$/
      for (const [text, type, reason] of [
        [`${HEADER}x,"b" y,1\n${rows}`, CSV, joined],
        [`${HEADER}x,"open,1\n${rows}`, CSV, joined],
        [`[{"title":1},{"title":"T","author":"${author}","year":1}`, JSON_ARRAY, /is not closed/],
      ] as const)
        for (const query of ['?skip_faulty=true', '?skip_faulty=true&dry_run=true'])
          await expectRefusal(send(text, query, type), reason)
      assert.deepEqual(await stored(author), [])
      // This row is whole.
      const one = send(`${HEADER}x,"b" y,"1"\n${rows}`, '?skip_faulty=true')
      assert.deepEqual(await counts(one, 'added', 'faulty'), [3, 1])
    })

    it('decision: an import that is repeated adds nothing, unless skip_existing=false says so', async () => {
      const author = newAuthor()
      const text = `${HEADER}T,${author},1\nT,${author},1\nU,${author},1\n`
      for (const [file, query, ...expected] of [
        [text, '', 3, 0],
        [`${text}V,${author},1\n`, '?skip_existing=true&dry_run=false', 1, 3],
        [text, '', 0, 3],
        [text, '?dry_run=true', 0, 3],
        [text, '?skip_existing=false', 3, 0],
      ] as const)
        assert.deepEqual(await counts(send(file, query), 'added', 'skipped'), expected)
      assert.equal((await stored(author)).length, 7)
    })

    it('decision: columns names the columns of a CSV file, and the others are as without it', async () => {
      const author = newAuthor()
      const columns = (mapping: string) => `?columns=${encodeURIComponent(mapping)}`
      const text = `Titel;Name, Vorname;"=a ""b""&+";Jahr\nT;${author};x;c1999\nU;${author};;\n`
      const named = send(text, columns('title=Titel,author="Name, Vorname",year=Jahr'))
      await expectReport(named, IMPORTED, {
        source: 'another program',
        columns: { title: 'Titel', author: 'Name, Vorname', year: 'Jahr' },
        rows: 2,
        added: 2,
        without_year: 1,
      })
      await send(`title,year,"=a ""b""&+"\nV,2,${author}\n`, columns('author==a "b"&+'))
      await send(`title,author\nW,${author}\n`, '?columns=year=')
      assert.deepEqual(await stored(author), [
        ['T', 1999],
        ['U', 0],
        ['V', 2],
        ['W', 0],
      ])
      await expectRefusal(
        send(HEADER, '?columns=year=Jahr&dry_run=true'),
        'there is no column "Jahr"; the file has the columns "title", "author", "year"',
      )
      await expectRefusal(send('{}', '?columns=year=Jahr', NDJSON), 'columns can be named only for CSV')
    })

    it('decision: the columns of other CSV files are told by their names, in several languages', async () => {
      const author = newAuthor()
      for (const [header, row] of [
        ['Titel;Autor;Erscheinungsjahr', `Ü;${author};1962`],
        ['ANNEE,Auteur(s),titre', `vers 1962,${author},Ü`],
        ['书名,作者,出版年', `Ü,${author},1962-05-01`],
      ]) {
        const reply = send(`${header}\n${row}\n`, '?skip_existing=false')
        assert.deepEqual(await counts(reply, 'source'), ['another program'])
      }
      assert.deepEqual(await stored(author), Array(3).fill(['Ü', 1962]))
      await expectRefusal(
        send('Author,Title\nA,T\n'),
        'the file has the columns "Author", "Title", and none that is known to be the year; name it, or say ' +
          'that there are no years, with ?columns=year=Jahr or ?columns=year=',
      )
      const two = `Title,Titel,Author,Jahr\nT,U,${author},1\n`
      await expectRefusal(
        send(two),
        'the columns "title" and "titel" may both be the title; name the right one with ?columns=title="title"',
      )
      assert.deepEqual(await counts(send(two, '?columns=title=%22titel%22'), 'added'), [1])
      assert.deepEqual((await stored(author)).at(-1), ['U', 1])
    })

    it("decision: a year that another program's export does not tell for certain is 0, and counted", async () => {
      const author = newAuthor()
      const years: Record<string, number> = {
        '9/16/2006': 2006,
        '1st ed. 1999': 1999,
        '-750': -750,
        '750 BC': -750,
        '750 BCE': -750,
        '-0749-01-01': 0,
        '1,999': 0,
        '18th century': 0,
        '1998/1999': 0,
        '': 0,
      }
      const rows = Object.keys(years).map((year) => `T,${author},"${year}"\n`)
      const reply = send(`Title,Author,Year Published\n${rows.join('')}`)
      assert.deepEqual(await counts(reply, 'without_year'), [5])
      assert.deepEqual(
        (await stored(author)).map(([, year]) => year),
        Object.values(years),
      )
    })

    it('decision: another Content-Type is 415, and another parameter 400', async () => {
      for (const type of ['application/xml', 'text/plain', 'csv', 'text/csv2'])
        assertResponse(await send(HEADER, '', type), 415, 'Unsupported media type')
      for (const query of [
        ...[
          'dry_run=1',
          'dry_run=',
          'dry_run',
          'dry_run=true&',
          '&',
          'dry_run=%FF',
          'DRY_RUN=true',
          'limit=1',
        ],
        ...['dry_run=true&dry_run=true', 'columns=', 'columns=id=Nr', 'columns=title=', 'columns=title=a,b'],
        'columns=title=a,title=b',
      ])
        assertInvalidQuery(await send(HEADER, `?${query}`), /dry_run|limit|columns|one/i)
    })

    it('§5.5: an import needs a token', async () => {
      const options = { text: HEADER, headers: { 'content-type': CSV }, token: 'x' }
      await session.expect('POST', '/books/import', options, 401, 'Invalid token')
    })
  })
