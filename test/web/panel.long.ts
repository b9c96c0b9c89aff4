import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { useService } from '../support/use-service.ts'
import { page, series, usePage } from './page.ts'

describe('the panel of a book, beside the list', { skip: browserMissing }, () => {
  const service = useService((service) => service.importBooks(series(150)))
  usePage(() => service.url, 'Volume 0')

  const hash = (expected: string) => page.waitUntil(`location.hash === '${expected}'`)
  const has = (title: string) =>
    page.waitUntil(`document.querySelector('[name=title]')?.value === '${title}'`)
  const question = () => page.shows('Discard your changes?')

  it('is closed by a step back, which leaves the list as it is', async () => {
    await page.search('volume 1', 'Volume 1', 'Volume 10')
    await page.box('Volume 10').click()
    await page.openBook('Volume 1')
    await hash('#book=2')
    await page.goBack()
    await page.showsNoDialog()
    assert.equal(new URL(page.url()).search, '?q=volume+1&sort=id')
    await page.shows('1 selected')
    await page.showsTitles('Volume 1', 'Volume 10')
    await page.goForward()
    await has('Volume 1')
    // A click beside its fields.
    await page.getByRole('heading', { name: 'Edit book' }).click()
    await page.escape()
    await hash('')
  })

  it('asks before a step back discards what is typed', async () => {
    await page.addBook({ Title: 'Half a title' })
    await hash('#new')
    await page.goBack()
    await question()
    await hash('#new')
    await page.button('Keep editing').click()
    await has('Half a title')
    await page.goBack()
    await page.button('Discard').click()
    await page.showsNoDialog()
    await hash('')
  })

  it('shows the next book that is clicked, and asks before it discards what is typed', async () => {
    await page.openBook('Volume 3')
    await has('Volume 3')
    await page.openBook('Volume 5')
    await has('Volume 5')
    await hash('#book=6')
    await page.assertAccessible('panel')
    await page.fillIn({ Author: 'Another' })
    await page.openBook('Volume 7')
    await question()
    await page.button('Keep editing').click()
    assert.equal(await page.field('Author').inputValue(), 'Another')
    await page.openBook('Volume 7')
    await page.button('Discard').click()
    await has('Volume 7')
    // One step back closes it, however many books were shown.
    await page.goBack()
    await page.showsNoDialog()
  })

  it('leads to the book before and after, which the list shows', async () => {
    await page.openBook('Volume 1')
    await has('Volume 1')
    await page.keys('Alt+ArrowUp')
    await has('Volume 0')
    await page.button('Previous book (Alt+↑)').click()
    for (let next = 1; next < 40; next++) {
      await page.button('Next book (Alt+↓)').click()
      await has(`Volume ${next}`)
    }
    await page.locator('[aria-current=true]', { hasText: 'Volume 39' }).waitFor()
    await page.isInSight('[aria-current=true]')
  })

  it('stays while one searches', async () => {
    await page.openBook('Volume 4', { Author: 'Another' })
    await page.search('volume 9', 'Volume 9', 'Volume 90')
    assert.equal(await page.field('Author').inputValue(), 'Another')
    await hash('#book=5')
    await page.choose('Save', 'Saved “Volume 4”.')
    await page.showsNoDialog()
    await hash('')
    assert.equal(new URL(page.url()).search, '?q=volume+9&sort=id')
  })

  it('is what the address names after a step that also leads to another list', async () => {
    await page.openBook('Volume 6')
    await has('Volume 6')
    await page.link('Series').first().click()
    await page.waitForURL(/author=Series.*#book=7$/)
    await page.cancel()
    await hash('')
    await page.goBack()
    await has('Volume 6')
    await page.goForward()
    await page.showsNoDialog()
    await hash('')
    await page.waitForURL(/author=Series/)
  })

  it('can be opened again at once', async () => {
    // Its part of the page is there from then on.
    await page.addBook()
    await page.button('Cancel').click()
    await hash('')
    for (let times = 0; times < 5; times++) {
      await page.evaluate(`{
        const find = (text) => [...document.querySelectorAll('button')].find((each) => each.textContent.trim() === text)
        for (const text of ['Add book', 'Cancel', 'Add book']) find(text).click()
      }`)
      await hash('#new')
      await has('')
      await page.goBack()
      await page.showsNoDialog()
    }
  })

  it('is open where its address leads', async () => {
    await page.goto(`${service.url}/?q=volume+8#new`)
    await page.getByRole('dialog', { name: 'Add book' }).waitFor()
    await page.goto(`${service.url}/?q=volume+8#book=9`)
    await has('Volume 8')
    await page.cancel()
    await hash('')
  })
})
