import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserMissing } from '../support/browser.ts'
import { freePort } from '../support/free-port.ts'
import { startNginx } from '../support/nginx.ts'
import { openPrefixProxy } from '../support/prefix-proxy.ts'
import { findProgram } from '../support/program.ts'
import { ServerDirectory } from '../support/server-directory.ts'
import { useService } from '../support/use-service.ts'
import { openCatalogue, openPage, usePages } from './page.ts'

const NGINX = findProgram('nginx')

/** As those of addresses without HTTPS: the page cannot make the tags itself. */
const WITHOUT_DIGESTS = "Object.defineProperty(Crypto.prototype, 'subtle', { value: undefined })"

/** Starts nginx in front of a service. @param settings of its `http` block. */
async function openNginx(service: string, settings = '') {
  const port = await freePort()
  const location = `location / { proxy_pass ${service}; proxy_set_header Host $http_host; }`
  const servers = `${settings} server { listen 127.0.0.1:${port}; ${location} }`
  const nginx = await startNginx(NGINX.file, new ServerDirectory(), servers)
  return { url: `http://127.0.0.1:${port}/`, [Symbol.asyncDispose]: () => nginx.remove() }
}

/** Ways to the service whose entity tags are others than those that it has sent, or none. */
const WAYS = {
  'nginx makes them weak, without digests': (service: string) =>
    openNginx(service, 'gzip on; gzip_proxied any; gzip_types application/json;'),
  'a proxy takes them out': (service: string) =>
    openPrefixProxy('/', service, {
      response: (headers) => {
        delete headers.etag
      },
    }),
}

describe('the web page whose entity tags are changed on their way', { skip: browserMissing }, () => {
  const service = useService()
  const browser = usePages()

  for (const [name, open] of Object.entries(WAYS))
    it(`edits, overwrites, deletes and takes back where ${name}`, {
      skip: name.startsWith('nginx') && NGINX.missing,
    }, async () => {
      const [, word = ''] = name.split(' ')
      // The page makes the tag of these letters.
      const titleOf = (part: number) => `Part ${part} “ÿ” 漢字 ${word}`
      for (const year of [0, 1, 2]) await service.createBook({ title: titleOf(year), year })
      const [{ id } = assert.fail()] = await service.listBooks(`q=${word}`)
      await using proxy = await open(service.url)
      const page = await openPage(browser(), 'about:blank')
      if (name.includes('without')) await page.addInitScript(WITHOUT_DIGESTS)
      await page.goto(`${proxy.url}?q=${word}&sort=id`)
      await page.logIn()
      for (const Year of ['1990', '1991']) {
        await page.openBook(titleOf(0), { Year })
        await page.button('Save').click()
        await page.showsNoDialog()
      }

      // It is open, so the page has read it.
      await page.openBook(titleOf(0), { Year: '1993' })
      await service.updateBook(id, { year: 1992 })
      await page.choose('Save', 'Someone else has changed this book')
      await page.button('Overwrite with mine').click()
      await page.showsNoDialog()
      assert.equal((await service.readBook(id)).year, 1993)

      const deleted = page.waitForResponse((response) => response.request().method() === 'DELETE')
      await page.deleteBook(titleOf(1))
      assert.equal((await deleted).status(), 200)

      await page.selectAll()
      await page.shows(/^2 selected$/)
      await page.button('Edit…').click()
      await page.fillIn({ Author: word })
      await page.choose('Save 2 books', 'Saved 2 books.')
      assert.equal((await service.listBooks(`author=${word}`)).length, 2)

      await page.chooseFile('title,author,year\nNew 0,N,1\nNew 1,N,2\n')
      await page.button('Import 2 books').click()
      await page.button('Undo import').click()
      await page.choose('Delete 2 books', 'Deleted 2 books.')
      assert.equal((await service.listBooks('author=N')).length, 0)
    })
})

describe('the web page says who refuses a large file', { skip: browserMissing }, () => {
  const service = useService(undefined, { IMPORT_LIMIT: '1' })
  const browser = usePages()

  it('nginx in front of the service', { skip: NGINX.missing }, async () => {
    await using nginx = await openNginx(service.url, 'client_max_body_size 500k;')
    const page = await openCatalogue(browser(), nginx.url)
    await page.chooseFile(Buffer.alloc(600_000, 'title,author,year\n'))
    await page.shows('A proxy in front of the service does not accept files this large')
  })

  it('the service', async () => {
    const page = await openCatalogue(browser(), service.url)
    await page.chooseFile(Buffer.alloc(2 ** 21, 'title,author,year\n'))
    await page.shows('The file is larger than this service accepts')
  })
})
