import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { assertAccessible, button, chooseInMenu, importButton, page, usePage } from './page.ts'

describe('the columns of a file on the web page', { skip: browserMissing }, () => {
  const service = useService()
  usePage(
    () => service.url,
    () => chooseInMenu(page, 'Import…'),
  )

  async function choose(content: string | Buffer, name = 'list.csv'): Promise<void> {
    const path = join(service.directory, name)
    writeFileSync(path, content)
    await page.getByLabel('File').setInputFiles(path)
  }

  const column = (field: string) =>
    page.locator('#transfer').getByRole('combobox', { name: field, exact: true })
  const chosen = (field: string) =>
    column(field).evaluate(
      (select) => (select as unknown as { selectedOptions: { text: string }[] }).selectedOptions[0]?.text,
    )
  const head = () => page.locator('.preview th').allTextContents()
  const cells = () => page.locator('.preview tbody tr').first().locator('td').allTextContents()
  const open = () => page.getByText('Columns and encoding').click()
  const toAdd = (count: string) => page.locator('#transfer h3', { hasText: `${count} ready` }).waitFor()
  const found = (field: string, name: string) =>
    page
      .locator('#transfer label', { hasText: field })
      .locator('option:checked', { hasText: name })
      .waitFor({ state: 'attached' })

  async function importIt(): Promise<unknown> {
    await importButton().click()
    await page.getByText('Imported 1 book.').or(page.getByText('Imported 2 books.')).waitFor()
    const headers = { authorization: service.token }
    const response = await fetch(`${service.url}/books?sort=-id&limit=1`, { headers })
    const [book] = ((await response.json()) as { data: { title: string; author: string; year: number }[] })
      .data
    return [book?.title, book?.author, book?.year]
  }

  for (const [program, text, expected] of [
    [
      'others',
      'sep=;\r\nNr.;"Alter ""Titel""";Verfasser;Titel;Jahr\r\n1;x;A;T;1999\r\n',
      ['Titel', 'Verfasser', 'Jahr'],
    ],
    ['this service', 'id,title,author,year\n1,T,A,1\n', ['title', 'author', 'year']],
    [
      'Goodreads',
      'Book Id,Title,Author,Author l-f,Additional Authors,Year Published,Original Publication Year\n1,T,A,A,,2,1\n',
      ['Title', 'Author', 'Original Publication Year'],
    ],
    [
      'LibraryThing',
      'Book Id\tTitle\tPrimary Author\tSecondary Author\tDate\n1\tT\tA, B\t\t1\n',
      ['Title', 'Primary Author', 'Date'],
    ],
  ] as const)
    it(`are those that the service knows from files of ${program}`, async () => {
      await choose(text)
      await toAdd('1')
      assert.equal(await page.locator('.preview').isVisible(), false)
      await open()
      for (const [index, field] of ['Title', 'Author', 'Year'].entries())
        await found(field, expected[index] ?? '')
      assert.deepEqual(
        await page
          .locator('.preview th.chosen')
          .allTextContents()
          .then((all) => all.toSorted()),
        [...expected].toSorted(),
      )
    })

  it('are asked for if the service does not know them, and shown with the first rows', async () => {
    await choose(
      'Nr.;"Name; kurz";"Von\nwem";Jahr\n1;"Die ""Blechtrommel""";Grass, Günter;1959\n\n2;B;C;1960\n',
    )
    await page.getByText('Choose the column for title and author.').waitFor()
    assert.deepEqual(await head(), ['Nr.', 'Name; kurz', 'Von\nwem', 'Jahr'])
    assert.deepEqual(await cells(), ['1', 'Die "Blechtrommel"', 'Grass, Günter', '1959'])
    assert.equal(await chosen('Year'), 'Jahr')
    assert.equal(await chosen('Title'), 'Choose…')
    await assertAccessible(page, 'import-columns')
    await column('Title').selectOption('Name; kurz')
    await page.getByText('Choose the column for author.').waitFor()
    await column('Author').selectOption({ index: 3 })
    await toAdd('2')
    await assertAccessible(page, 'import-columns-chosen')
    await column('Year').selectOption('No years')
    await page.getByText('2 books have no year that can be read.').waitFor()
    await column('Year').selectOption('Jahr')
    await page.getByText('no year that can be read').waitFor({ state: 'hidden' })
    assert.deepEqual(await importIt(), ['B', 'C', 1960])
  })

  for (const viewport of [
    { width: 320, height: 256 },
    { width: 360, height: 740 },
    { width: 1280, height: 720 },
  ])
    it(`are asked for in sight, in a window of ${viewport.width} × ${viewport.height}`, async () => {
      await page.setViewportSize(viewport)
      await choose('Name;Writer;When\nEmma;Jane Austen;1815\nUlysses;James Joyce;1922\n')
      const message = page.getByText('Choose the column for title and year.')
      await message.waitFor()
      const isInSight = await message.evaluate((element) => {
        const { x, y, width, height } = element.getBoundingClientRect()
        return element.ownerDocument.elementFromPoint(x + width / 2, y + height / 2) === element
      })
      assert.ok(isInSight)
    })

  it('have numbers if the first row is a book', async () => {
    await choose('Lem,Solaris,1961\nLem,Éden,1959\n')
    await page.getByText('If its first row is a book, clear “First row is a header”.').waitFor()
    await column('Title').selectOption('Solaris')
    await page.getByText('Choose the column for author and year.').waitFor()
    await page.getByLabel('First row is a header').uncheck()
    await page.getByText('Choose the column for title, author, and year.').waitFor()
    assert.equal(await page.getByText('If its first row is a book').count(), 0)
    await page.locator('.preview th', { hasText: 'Column 3' }).waitFor()
    assert.deepEqual(await head(), ['Column 1', 'Column 2', 'Column 3'])
    assert.deepEqual(await cells(), ['Lem', 'Solaris', '1961'])
    await column('Title').selectOption('Column 2')
    await page.getByText('Choose the column for author and year.').waitFor()
    await column('Author').selectOption('Column 1')
    await page.getByText('Choose the column for year.').waitFor()
    await column('Year').selectOption('Column 3')
    await toAdd('2')
    await assertAccessible(page, 'no-header')
    assert.deepEqual(await importIt(), ['Éden', 'Lem', 1959])
  })

  it('are as wide as they are, without more space than a dialog has', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `A long name of a column ${i}`).join(',')
    for (const viewport of [
      { width: 360, height: 740 },
      { width: 1100, height: 800 },
    ]) {
      await page.setViewportSize(viewport)
      await choose(`${names}\n1,2,3\n`, `wide-${viewport.width}.csv`)
      await page.locator('.preview').waitFor()
      const [inner, outer] = (await page.evaluate(`{
        const { scrollWidth, clientWidth } = document.querySelector('#transfer')
        ;[scrollWidth, clientWidth]
      }`)) as [number, number]
      assert.ok(inner <= outer, `${inner} > ${outer}`)
      await assertAccessible(page, `import-columns-${viewport.width}`)
    }
  })

  it('are asked for if there are no years, which can be said', async () => {
    await choose('cover,title,author,timestamp\nx,T,Lent,"November 27, 2022 18:07"\n')
    await page.getByText('Choose the column for year. If the file has no years, choose “No years”.').waitFor()
    await column('Year').selectOption('No years')
    await toAdd('1')
    assert.deepEqual(await importIt(), ['T', 'Lent', 0])
  })

  it('are asked for if two may be the same field', async () => {
    await choose('titre,titel,author,year\nA,B,C,1\n')
    await page.getByText('Choose the column for title.').waitFor()
    await column('Title').selectOption('titel')
    await toAdd('1')
    assert.deepEqual(await importIt(), ['B', 'C', 1])
  })

  it('can be others than those that the service knows', async () => {
    await choose('title,author,year,original title\nA,D,1,E\n')
    await toAdd('1')
    await open()
    await found('Title', 'title')
    await column('Title').selectOption('original title')
    await toAdd('1')
    assert.deepEqual(await importIt(), ['E', 'D', 1])
    // In this file only.
    await chooseInMenu(page, 'Import…')
    await choose('title,author,year\nF,G,2\n')
    await toAdd('1')
  })

  it('are shown as they are in another encoding, which can be named', async () => {
    await choose(Buffer.from('title,author,year\nGr\xf6\xdfe,M\xfcller,1999\n', 'latin1'))
    await page.locator('.preview').waitFor()
    await page.getByText('is not in UTF-8').first().waitFor()
    await column('Encoding').selectOption('Windows-1252')
    await toAdd('1')
    assert.deepEqual(await cells(), ['Größe', 'Müller', '1999'])
    await assertAccessible(page)
    assert.deepEqual(await importIt(), ['Größe', 'Müller', 1999])
  })

  it('that were chosen are kept in another encoding, if it does not change their names', async () => {
    await choose(Buffer.from('Titel,Verfasser,N\xe9e\nT,A,1999\n', 'latin1'))
    await page.getByText('Choose the column for year.').waitFor()
    await column('Year').selectOption('N\ufffde')
    await toAdd('1')
    await column('Title').selectOption('Verfasser')
    await toAdd('1')
    await column('Encoding').selectOption('Windows-1252')
    await page.getByText('Choose the column for year.').waitFor()
    assert.deepEqual(await head(), ['Titel', 'Verfasser', 'Née'])
    assert.equal(await chosen('Title'), 'Verfasser')
  })

  it('are refused with the reason if two that are read have the same name', async () => {
    await choose('title,Title,author,year\nA,B,C,1\n')
    await page.getByText('Several columns are named "title"').waitFor()
    assert.ok(await page.locator('.preview').isVisible())
  })

  it('are read from UTF-16, as of files of Excel', async () => {
    await choose(Buffer.from('\ufefftitle\tauthor\tyear\r\nStärke\tMüller\t1999\r\n', 'utf16le'))
    await toAdd('1')
    await open()
    await found('Title', 'title')
    assert.equal(await chosen('Encoding'), 'UTF-16LE')
    assert.deepEqual(await cells(), ['Stärke', 'Müller', '1999'])
  })

  const book = '{"title":"T","author":"A","year":1}\n'
  for (const [name, text] of [
    ['list.json', `[${book}]`],
    ['list.ndjson', book],
    ['LIST.JSONL', book],
  ] as const)
    it(`are not asked for in ${name}`, async () => {
      await choose(text, name)
      await toAdd('1')
      assert.equal(await page.getByText('Columns and encoding').count(), 0)
    })

  it('rows with errors are listed with what is wrong, and can be downloaded', async () => {
    const rows = Array.from({ length: 120 }, (_, i) => `T,A,"=never ""${i}"""`)
    await choose(['title,author,year', ...rows].join('\n'))
    await page.getByText('The first 100 of 120 errors.').waitFor()
    const close = (await button('Close').boundingBox()) ?? { y: Number.NaN }
    assert.ok(close.y < 760, `the buttons are ${close.y} pixels down`)
    // What only programs have to know is in the file.
    assert.deepEqual(await page.locator('.faults tbody tr').first().locator('td').allTextContents(), [
      '2',
      'Year',
      '"=never \\"0\\"" is not a year (a whole number such as 1979 or -500).',
    ])
    await assertAccessible(page, 'import-faults')
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      button('Download errors (CSV)').click(),
    ])
    assert.equal(download.suggestedFilename(), 'list.csv errors.csv')
    const lines = readFileSync(await download.path(), 'utf8').split('\r\n')
    assert.equal(lines[0], '\ufeff"Line","Field","Problem"')
    assert.match(lines[1] ?? '', /^"2","Year","""=never .* is not a year \(a whole number/)
    assert.equal(lines.length, 102)
  })
})
