import assert from 'node:assert/strict'
import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { temporaryDirectory } from '../support/service.ts'
import { useService } from '../support/use-service.ts'
import { CHECK, IMPORT, page, rowsOf, usePage } from './page.ts'

describe('a file that is chosen for an import on the web page', { skip: browserMissing }, () => {
  const service = useService()
  usePage(() => service.url)

  const stored = async (author: string) => (await service.listBooks(`author=${author}`)).length

  it('is not stored if it has changed since, and is read when it is chosen again', async (t: TestContext) => {
    const directory = temporaryDirectory()
    t.after(directory.remove)
    const path = join(directory.path, 'books.csv')
    const session = await page.context().newCDPSession(page)
    /** As the browser does. Playwright would send the event of a change even if there was none. */
    async function chooseIt(): Promise<void> {
      await Promise.all([page.waitForEvent('filechooser'), page.getByLabel('File').click()])
      const expression = `document.querySelector('#transfer [type=file]')`
      const { objectId } = (await session.send('Runtime.evaluate', { expression })).result
      await session.send('DOM.setFileInputFiles', { files: [path], ...(objectId && { objectId }) })
    }
    writeFileSync(path, `${rowsOf('Corrected', 1)}\nT,Corrected,never`)
    await page.chooseInMenu('Import…')
    await chooseIt()
    await page.shows('1 ready')
    writeFileSync(path, rowsOf('Corrected', 2))
    // Browsers compare whole seconds.
    utimesSync(path, 1, 1)
    await page.choose('Import 1 book', 'has changed since you chose it')
    assert.equal(await stored('Corrected'), 0)
    await chooseIt()
    await page.shows('2 ready')
    utimesSync(path, 2, 2)
    await page.getByLabel('Skip books already in the catalogue').uncheck()
    await page.shows('has changed since you chose it')
    assert.equal(await page.getByText('2 ready').count(), 0)
  })

  it('says why it cannot be read, until another is chosen', async () => {
    await page.chooseFile('PK\x03\x04')
    await page.shows('save it as CSV in UTF-8')
    await page.chooseFile(Buffer.from('title,author,year\nGr\xfc\xdfe,B,1\n', 'latin1'))
    await page.shows('is not in UTF-8; the file seems to be in another encoding')
    // Where one can choose it.
    await page.locator('.preview').waitFor()
    await page.chooseFile(rowsOf('Readable', 1))
    await page.shows('1 ready')
    await page.hides('is not in UTF-8')
  })

  it('is checked some times, and then the service is called busy', async () => {
    let asked = 0
    await page.refuse(CHECK, 503)
    // Proxies answer so for a service that is busy.
    await page.route(CHECK, (route) => route.fulfill({ status: 504, body: 'Gateway Timeout' }), { times: 1 })
    page.on('request', (request) => CHECK.test(request.url()) && asked++)
    await page.clock.install()
    await page.chooseFile(rowsOf('Busy', 1))
    const told = page.getByText('The service cannot accept the file right now')
    for (; !(await told.isVisible()); await page.clock.runFor(1000)) assert.ok(asked <= 20)
  })

  it('can be dropped on the page; rows with errors are left out', async () => {
    const FILE = `new File(['title,author,year\\nA,Dropped,1\\nB,Dropped,never'], 'Dropped.csv')`
    const TWO = `${FILE}); dataTransfer.items.add(${FILE}`
    const TEXT = `'A text', 'text/plain'`
    /** @returns whether the browser does what it does by itself, such as showing the file. */
    const drag = (type: string, what = FILE, where = 'body') =>
      page.evaluate(`{
        const dataTransfer = new DataTransfer()
        dataTransfer.items.add(${what})
        document.querySelector('${where}').dispatchEvent(new DragEvent('${type}', { dataTransfer, cancelable: true, bubbles: true }))
      }`)
    for (const type of ['dragover', 'drop'])
      assert.deepEqual([await drag(type, TEXT), await drag(type, TEXT, '.q input')], [false, true])
    assert.equal(await drag('dragover', FILE, '.q input'), false)
    await page.locator('.dragging').waitFor()
    await drag('dragleave')
    await page.locator('.dragging').waitFor({ state: 'detached' })
    await drag('drop', TWO)
    await page.shows('Drop one file at a time.')
    await page.chooseInMenu('Import…')
    await drag('dragover')
    await page.locator('.dragging .drop').waitFor()
    await page.assertAccessible('drop-zone')
    assert.equal(await drag('drop'), false)
    assert.equal(await page.locator('.dragging').count(), 0)
    await page.shows('Dropped.csv')
    await page.shows('1 with errors')
    const held = await page.hold('POST', IMPORT, () => page.button('Import 1 book').click())
    await drag('drop')
    await page.shows('Another import is still running.')
    await page.button('Close').click()
    await page.chooseInMenu('Import…')
    await page.locator('.drop', { hasText: 'Dropped.csv' }).waitFor()
    await held.release()
    await page.shows('Imported 1 book.')
    assert.equal(await stored('Dropped'), 1)
    // Not above the question for the password.
    await page.refuse(/q=dropped/, 401, 1)
    await page.search('dropped')
    await page.shows('Session expired')
    await drag('drop')
    await page.enterPassword()
    assert.equal(await page.dialog().count(), 0)
  })
})
