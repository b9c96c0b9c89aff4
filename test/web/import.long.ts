import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { CHECK, IMPORT, page, usePage } from './page.ts'

const BOOK = /\/book\/\d+$/

/** Files that are understood as they are: the columns in which title, author and year are found, or none in JSON. */
const KNOWN: Record<string, readonly [string, string[]?]> = {
  'others.csv': [
    'sep=;\r\nNr.;"Alter ""Titel""";Verfasser;Titel;Jahr\r\n1;x;A;T;1\r\n',
    ['Titel', 'Verfasser', 'Jahr'],
  ],
  'list.json': ['[{"title":"T","author":"A","year":1}]'],
  'lines.jsonl': ['{"title":"T","author":"A","year":1}\n'],
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
      await page.shows(/^1 row, (plain CSV|NDJSON|JSON)\./)
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
    await column('Year').selectOption('No years')
    await page.shows('1 book has no year that can be read.')
    assert.deepEqual(await importIt(), ['Die "Rättin"', 'Grass, Günter', 0])
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

describe('an import that the user of the web page takes back', { skip: browserMissing }, () => {
  const service = useService()
  usePage(() => service.url)

  /** The ids of the books of an author. */
  const stored = async (author: string) => (await service.listBooks(`author=${author}`)).map(({ id }) => id)

  async function choose(author: string, rows: number): Promise<void> {
    const lines = Array.from({ length: rows }, (_, i) => `${author} ${i},${author},${i}`)
    await page.chooseFile(['title,author,year', ...lines].join('\n'), `${author}.csv`)
    await page.shows(/\d ready/)
  }

  async function importBooks(author: string, rows: number): Promise<void> {
    await choose(author, rows)
    await page.importButton().click()
    await page.shows(`Imported ${rows} book`)
  }

  async function undo(count: number): Promise<void> {
    await page.button('Undo import').click()
    await page.button(`Delete ${count} books`).click()
  }

  it('stores nothing when it is cancelled while the file is sent, and all at the next attempt', async () => {
    await choose('Cancelled', 12_000)
    const session = await page.context().newCDPSession(page)
    const limitUpload = (uploadThroughput: number) =>
      session.send('Network.emulateNetworkConditions', {
        ...{ offline: false, latency: 0, downloadThroughput: -1 },
        uploadThroughput,
      })
    await limitUpload(10_000)
    await page.importButton().click()
    await page.shows(/^Sending… [1-9]\d?%$/)
    await page.keys('Escape')
    const notice = page.locator('.notice', { hasText: 'Importing “Cancelled.csv”…' })
    await notice.locator('progress:not(:indeterminate)').waitFor()
    await page.assertAccessible('import-goes-on')
    await page.button('Open').click()
    assert.equal(await notice.count(), 0)
    await page.choose('Cancel import', 'Import cancelled. Nothing was imported.')
    assert.deepEqual(await stored('Cancelled'), [])
    await limitUpload(-1)
    await page.importButton().click()
    await page.shows('Imported 12,000 books.')
    assert.equal((await stored('Cancelled')).length, 12_000)
    assert.equal(await page.button('Undo import').count(), 0)
    await choose('Most', 10_000)
    await page.importButton().click()
    await page.shows('Imported 10,000 books.')
    await page.button('Undo import').waitFor()
  })

  it('can be cancelled while the file is checked, and before it is sent, while the page makes sure of its token', async () => {
    const response = await page.hold('POST', CHECK, () => page.chooseFile('title,author,year\nT,Unsent,1'))
    await page.choose('Cancel check', 'Check cancelled.')
    assert.equal(await page.locator('#transfer .error').textContent(), '')
    await response.release()
    await page.choose('Check again', /\d ready/)
    assert.equal(await page.getByText('Check cancelled.').count(), 0)
    const held = await page.hold('GET', /\/books\?limit=1$/, () => page.importButton().click())
    await page.choose('Cancel import', 'Cancelling…')
    assert.ok(await page.getByLabel('File').isDisabled())
    await held.release()
    await page.shows('Import cancelled. Nothing was imported.')
    assert.deepEqual(await stored('Unsent'), [])
  })

  it('shows what is left of what it has added, and is offered to be undone until that is done or dismissed', async () => {
    await page.search('something')
    await importBooks('Before', 1)
    await importBooks('Shown', 4)
    assert.equal(await page.button('Undo import').count(), 1)
    await page.button('Undo import').click()
    // What belongs to the page is not offered in a dialog.
    assert.equal(await page.button('Show').count(), 0)
    await page.button('Cancel').click()
    assert.equal((await stored('Shown')).length, 4)
    await page.search('shown', 'Shown 0')
    await page.openBook('Shown 1', { Year: '1977' })
    await page.choose('Save', 'Saved “Shown 1”.')
    await page.deleteBook('Shown 0')
    // None are selected in a list that is chosen meanwhile.
    const held = await page.hold('GET', /sort=-id&limit=1000/, () => page.button('Show').click())
    await page.search('before', 'Before 0')
    await held.release()
    assert.equal(await page.locator('.selection button').count(), 0)
    await page.button('Show').click()
    await page.showsTitles('Shown 3', 'Shown 2', 'Shown 1', 'Before 0')
    await page.showsExactly('3 selected')
    // Showing the same again is no step of the history.
    const steps = await page.evaluate('history.length')
    await page.button('Show').click()
    await page.showsExactly('3 selected')
    assert.equal(await page.evaluate('history.length'), steps)
    const [file] = await Promise.all([page.waitForEvent('download'), page.button('Export CSV').click()])
    assert.match(readFileSync(await file.path(), 'utf8'), /"Shown 1","Shown","1977"/)
    await page.choose('Undo import', 'This deletes the 4 books added from “Shown.csv”.')
    await page.assertAccessible('undo-import')
    await page.button('Delete 4 books').click()
    await page.shows('Kept 1 book that someone else has changed.')
    await page.locator('button:focus', { hasText: 'Close' }).press('Enter')
    await page.showsNoDialog()
    assert.equal(await page.getByText('Imported 4 books.').count(), 0)
    assert.equal((await stored('Shown')).length, 1)
    assert.equal((await stored('Before')).length, 1)
  })

  it('goes on without its dialog while its books are deleted, can be stopped, and says how many are left', async () => {
    await importBooks('Stopped', 60)
    const released = Promise.withResolvers<void>()
    await page.route(BOOK, async (route) => {
      if (route.request().method() === 'DELETE' && (await stored('Stopped')).length < 40)
        await released.promise
      await route.fallback()
    })
    await undo(60)
    await page.shows(/^[1-9]\d* of 60 books$/)
    await page.assertAccessible('undo-import-running')
    await page.escape()
    const notice = page.locator('.notice', { hasText: 'Deleting 60 books…' })
    const part = await notice
      .getByRole('progressbar')
      .evaluate((bar) => (bar as unknown as { value: number }).value)
    assert.ok(part > 0 && part < 1, String(part))
    await page.button('Open').click()
    assert.equal(await notice.count(), 0)
    await page.escape()
    await page.locator('.row input').first().click()
    await page.button('Edit…').click()
    await page.getByRole('dialog', { name: 'Undo import' }).waitFor()
    await page.button('Stop').click()
    released.resolve()
    const result = page.getByText(/^Deleted \d+ books\. Stopped: \d+ books left\.$/)
    await result.waitFor()
    const [, deleted, left] = /(\d+) books\. Stopped: (\d+)/.exec((await result.textContent()) ?? '') ?? []
    assert.equal(Number(deleted) + Number(left), 60)
    assert.equal((await stored('Stopped')).length, Number(left))
    await page.button('Close').click()
    await page.button('Show').click()
    await page.showsExactly(`${left} selected`)
    await undo(Number(left))
    await page.shows(`Deleted ${left} books.`)
    assert.deepEqual(await stored('Stopped'), [])
  })

  it('goes on when its dialog is closed, and is not offered to be undone if others have added a book', async () => {
    // As many as the page reads at once to find them.
    await choose('Mixed', 1000)
    const response = await page.hold('POST', IMPORT, () => page.importButton().click())
    await page.button('Close').click()
    await page.shows('Importing “Mixed.csv”…')
    await service.createBook({ title: 'Mixed in', author: 'Other', year: 1 })
    await response.release()
    await page.shows('Imported 1,000 books.')
    assert.equal(await page.getByText('Importing').count(), 0)
    assert.equal(await page.button('Undo import').count(), 0)
    await page.button('Show').click()
    await page.showsTitles('Mixed in', 'Mixed 999')
  })
})
