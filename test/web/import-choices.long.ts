import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { page, usePage } from './page.ts'

/** Files that are understood as they are: the columns in which title, author and year are found, or none in JSON. */
const KNOWN: Record<string, readonly [string, string[]?]> = {
  'others.csv': [
    'sep=;\r\nNr.;"Alter ""Titel""";Verfasser;Titel;Jahr\r\n1;x;A;T;1\r\n',
    ['Titel', 'Verfasser', 'Jahr'],
  ],
  'list.json': ['[{"title":"T","author":"A","year":1}]'],
}

/** Files whose columns are asked for: what is chosen after a question, and the book that is stored. */
const ASKED: Record<
  string,
  readonly [string | Buffer, choice: [question: string, field: string, column: string], unknown[]]
> = {
  'a name with quotation marks': [
    '"The ""best"" of it",author,year\nQuoted,A,1\n',
    ['Choose the column for title.', 'Title', 'The "best" of it'],
    ['Quoted', 'A', 1],
  ],
  'another one than the service finds': [
    'title,author,year,original title\nA,D,1,E\n',
    ['Columns and encoding', 'Title', 'original title'],
    ['E', 'D', 1],
  ],
  'another encoding, which the column names need': [
    Buffer.from('Kitap Ad\xfd;Yazar;Bas\xfdm Y\xfdl\xfd\r\nKar;Pamuk;2002\r\n', 'latin1'),
    ['Some letters of the column names cannot be read', 'Encoding', 'Windows-1254'],
    ['Kar', 'Pamuk', 2002],
  ],
}

describe('the columns of a file on the web page', { skip: browserMissing }, () => {
  const service = useService()
  usePage(() => service.url)

  const column = (field: string) =>
    page.locator('#transfer').getByRole('combobox', { name: field, exact: true })
  const has = (field: string, name: string) =>
    column(field).locator('option:checked', { hasText: name }).waitFor({ state: 'attached' })
  const head = () => page.locator('.preview th').allTextContents()
  const cells = () => page.locator('.preview tbody tr').first().locator('td').allTextContents()
  const isReady = () => page.locator('#transfer h3', { hasText: /[1-9] ready/ }).waitFor()

  async function importIt(): Promise<unknown> {
    await page.importButton().click()
    await page.shows(/^Imported \d books?\.$/)
    const [book] = await service.listBooks('sort=-id&limit=1')
    return [book?.title, book?.author, book?.year]
  }

  for (const [name, [content, columns]] of Object.entries(KNOWN))
    it(`are found without a question: ${name}`, async () => {
      await page.chooseFile(content, name)
      await page.shows(/\d ready/)
      if (columns !== undefined) {
        assert.equal(await page.locator('.preview').isVisible(), false)
        await page.getByText('Columns and encoding').click()
        for (const [i, field] of ['Title', 'Author', 'Year'].entries()) await has(field, columns[i] ?? '')
        const chosen = await page.locator('.preview th.chosen').allTextContents()
        assert.deepEqual(chosen.toSorted(), columns.toSorted())
      } else assert.equal(await page.getByText('Columns and encoding').count(), 0)
    })

  for (const [what, [content, [question, field, name], stored]] of Object.entries(ASKED))
    it(`can be chosen: ${what}`, async () => {
      await page.chooseFile(content)
      await page.getByText(question).first().waitFor()
      if (!(await column(field).isVisible())) await page.getByText(question).click()
      await column(field).selectOption(name)
      await isReady()
      assert.deepEqual(await importIt(), stored)
      // In this file only.
      await page.chooseFile('title,author,year\nF,G,2\n')
      await isReady()
    })

  it('are shown with the first rows, and what a choice leads to', async () => {
    await page.chooseFile('"Name; kurz";"Von\nwem";Jahr\n"Die ""Rättin""";Grass, Günter;1959\n')
    await page.shows('Choose the column for title and author.')
    assert.deepEqual(await head(), ['Name; kurz', 'Von\nwem', 'Jahr'])
    assert.deepEqual(await cells(), ['Die "Rättin"', 'Grass, Günter', '1959'])
    await has('Title', 'Choose…')
    await column('Title').selectOption('Name; kurz')
    await page.shows('Choose the column for author.')
    await column('Author').selectOption({ index: 2 })
    await isReady()
    await page.assertAccessible('import-columns')
    await column('Year').selectOption('No years')
    await page.shows('1 book has no year that can be read.')
    await column('Year').selectOption('Jahr')
    await page.hides('no year that can be read')
  })

  it('are asked for in sight in the smallest window of WCAG 1.4.10, also if the file has no years', async () => {
    await page.setViewportSize({ width: 320, height: 256 })
    const others = Array.from({ length: 12 }, (_, i) => `A long name of a column ${i}`).join(';')
    await page.chooseFile(`Writer;${others}\nEmma;Jane Austen;1815\n`)
    // A trial fails where something covers it.
    await page.getByText('Choose the column for title and year.').click({ trial: true })
    await page.assertFits('#transfer')
    await page.assertAccessible('import-columns-320')
    await column('Title').selectOption({ index: 2 })
    await page.shows('Choose the column for year. If the file has no years, choose “No years”.')
  })

  it('have numbers if the first row is a book', async () => {
    await page.chooseFile('Lem,Solaris,1961\nLem,Éden,1959\n')
    await page.shows('If its first row is a book, clear “First row is a header”. If there are lines above')
    await column('Title').selectOption('Solaris')
    await page.shows('Choose the column for author and year.')
    await page.getByLabel('First row is a header').uncheck()
    for (const [fields, field, name] of [
      ['title, author, and year', 'Title', 'Column 2'],
      ['author and year', 'Author', 'Column 1'],
      ['year', 'Year', 'Column 3'],
    ] as const) {
      await page.shows(`Choose the column for ${fields}.`)
      await column(field).selectOption(name)
    }
    await isReady()
    assert.equal(await page.getByText('If its first row is a book').count(), 0)
    assert.deepEqual(await head(), ['Column 1', 'Column 2', 'Column 3'])
    assert.deepEqual(await cells(), ['Lem', 'Solaris', '1961'])
    assert.deepEqual(await importIt(), ['Éden', 'Lem', 1959])
  })

  it('that were chosen are kept in another encoding, if it does not change their names', async () => {
    await page.chooseFile(Buffer.from('Titel,Verfasser,N\xe9e\nT,A,1999\n', 'latin1'))
    await page.shows('Choose the column for year.')
    await column('Year').selectOption('N\ufffde')
    await isReady()
    await column('Title').selectOption('Verfasser')
    await isReady()
    await column('Encoding').selectOption('Windows-1252')
    await page.shows('Choose the column for year.')
    assert.deepEqual(await head(), ['Titel', 'Verfasser', 'Née'])
    await has('Title', 'Verfasser')
    // Two that are read must not have the same name.
    await page.chooseFile('title,Title,author,year\nA,B,C,1\n')
    await page.shows('Several columns are named "title"')
    assert.ok(await page.locator('.preview').isVisible())
  })

  it('rows with errors are listed with what is wrong, and can be downloaded', async () => {
    const rows = Array.from({ length: 120 }, (_, i) => `T,A,"=never ""${i}"""`)
    await page.chooseFile(['title,author,year', ...rows, ',,'].join('\n'), 'list.csv')
    await page.shows('0 ready · 120 with errors · 1 empty')
    await page.shows('The first 100 of 120 errors.')
    await page.isInSight('#transfer button[type=button]:last-of-type')
    // What only programs have to know is in the file.
    assert.deepEqual(await page.locator('.faults tbody tr').first().locator('td').allTextContents(), [
      '2',
      'Year',
      '"=never \\"0\\"" is not a year (a whole number such as 1979 or -500).',
    ])
    const save = () => page.button('Download errors (CSV)').click()
    const [download] = await Promise.all([page.waitForEvent('download'), save()])
    assert.equal(download.suggestedFilename(), 'list.csv errors.csv')
    const lines = readFileSync(await download.path(), 'utf8').split('\r\n')
    assert.equal(lines[0], '\ufeff"Line","Field","Problem"')
    assert.match(lines[1] ?? '', /^"2","Year","""=never .* is not a year \(a whole number/)
    assert.equal(lines.length, 102)
  })
})
