import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { browserMissing, useBrowser } from '../support/browser.ts'
import { freePort } from '../support/free-port.ts'
import { startNginx } from '../support/nginx.ts'
import { openPrefixProxy } from '../support/prefix-proxy.ts'
import { findProgram } from '../support/program.ts'
import { ServerDirectory } from '../support/server-directory.ts'
import { useService } from '../support/use-service.ts'
import { assertAccessible, chooseInMenu, logInOn, openCatalogue, openPage } from './page.ts'

const NGINX = findProgram('nginx')
const skip = browserMissing || NGINX.missing

/** In bytes, more than nginx passes on by default. */
const SIZE = 3_000_000

describe('the web page behind nginx', { skip }, () => {
  const service = useService()
  const browser = useBrowser()

  it('says that nginx, and not the service, refuses a large file', async () => {
    const port = await freePort()
    const server = `listen 127.0.0.1:${port};
      location / { proxy_pass ${service.url}; proxy_set_header Host $http_host; }`
    const nginx = await startNginx(NGINX.file, new ServerDirectory(), `server { ${server} }`)
    try {
      const page = await openCatalogue(browser(), `http://127.0.0.1:${port}`)
      await chooseInMenu(page, 'Import…')
      const row = 'A title,An author,1999\n'
      const buffer = Buffer.from(`title,author,year\n${row.repeat(SIZE / row.length)}`)
      await page.getByLabel('File').setInputFiles({ name: 'books.csv', mimeType: 'text/csv', buffer })
      await page.getByText('A proxy in front of the service does not accept files this large').waitFor()
      await assertAccessible(page)
    } finally {
      await nginx.remove()
    }
  })
})

/** Ways to the service whose entity tags are others than those that it has sent. */
const COMPRESSING = {
  'nginx, which makes them weak': {
    missing: NGINX.missing,
    async open(service: string) {
      const port = await freePort()
      const nginx = await startNginx(
        NGINX.file,
        new ServerDirectory(),
        `gzip on; gzip_proxied any; gzip_types application/json;
         server {
           listen 127.0.0.1:${port};
           location / { proxy_pass ${service}; proxy_set_header Host $http_host; }
         }`,
      )
      return { url: `http://127.0.0.1:${port}/`, close: () => nginx.remove() }
    },
  },
  'a proxy that names the coding in them': {
    missing: false,
    open: (service: string) =>
      openPrefixProxy('/', service, {
        response: (headers) => {
          if (headers.etag) headers.etag = headers.etag.replace(/"$/, '-gzip"')
        },
      }),
  },
  'a proxy that takes them out': {
    missing: false,
    open: (service: string) =>
      openPrefixProxy('/', service, {
        response: (headers) => {
          delete headers.etag
        },
      }),
  },
}

for (const [name, { missing, open }] of Object.entries(COMPRESSING))
  describe(`the web page whose entity tags come through ${name}`, { skip: browserMissing || missing }, () => {
    const service = useService((service) =>
      service.importBooks(
        Array.from({ length: 5 }, (_, i) => ({ title: `Part ${i}`, author: 'A', year: i })),
      ),
    )
    const browser = useBrowser()

    // Without HTTPS, browsers have no digests, so the page cannot make the tags itself.
    for (const hasDigests of name.includes('out') ? [true] : [true, false])
      it(`edits, overwrites, deletes and takes back, ${hasDigests ? 'with' : 'without'} digests`, async () => {
        const proxy = await open(service.url)
        const page = await openPage(browser(), 'about:blank')
        const button = (name: string) => page.getByRole('button', { name, exact: true })
        const link = (name: string) => page.getByRole('link', { name, exact: true })
        const field = (label: string) => page.getByRole('dialog').getByLabel(label)
        const headers = { authorization: service.token }
        const stored = async (query: string) =>
          (
            (await (await fetch(`${service.url}/books?${query}`, { headers })).json()) as {
              data: { id: number; year: number }[]
            }
          ).data
        try {
          if (!hasDigests)
            await page.addInitScript(
              "Object.defineProperty(Crypto.prototype, 'subtle', { value: undefined })",
            )
          await page.goto(proxy.url)
          await logInOn(page)
          for (const year of ['1990', '1991']) {
            await link('Part 0').click()
            await field('Year').fill(year)
            await button('Save').click()
            await page.getByRole('dialog').waitFor({ state: 'hidden' })
          }

          await link('Part 0').click()
          // It is open, so the page has read it.
          await field('Year').fill('1993')
          const [book] = await stored('title=Part+0')
          const change = { method: 'PUT', headers, body: '{"year":1992}' }
          assert.equal((await fetch(`${service.url}/book/${book?.id}`, change)).status, 200)
          await button('Save').click()
          await page.getByText('Someone else has changed this book').waitFor()
          await button('Overwrite with mine').click()
          await page.getByRole('dialog').waitFor({ state: 'hidden' })
          assert.equal((await stored('title=Part+0'))[0]?.year, 1993)

          const deleted = page.waitForResponse((response) => response.request().method() === 'DELETE')
          await link('Part 1').click()
          await button('Delete').click()
          assert.equal((await deleted).status(), 200)

          await page.getByRole('checkbox', { name: 'Select all' }).click()
          await page.getByText(/^4 selected$/).waitFor()
          await button('Edit…').click()
          await field('Author').fill('B')
          await button('Save 4 books').click()
          await page.getByText('Saved 4 books.').waitFor()
          assert.equal((await stored('author=B')).length, 4)

          const buffer = Buffer.from('title,author,year\nNew 0,N,1\nNew 1,N,2\n')
          await chooseInMenu(page, 'Import…')
          await page.getByLabel('File').setInputFiles({ name: 'books.csv', mimeType: 'text/csv', buffer })
          await page.getByRole('button', { name: /^Import \d/ }).click()
          await button('Undo import').click()
          await button('Delete 2 books').click()
          await page.getByText('Deleted 2 books.').waitFor()
          assert.equal((await stored('author=N')).length, 0)
          // As it was, for the other form of this test.
          await service.importBooks([{ title: 'Part 1', author: 'A', year: 1 }])
        } finally {
          await page.context().close()
          await proxy.close()
        }
      })
  })

describe('the web page of a service with a small limit', { skip: browserMissing }, () => {
  const service = useService(undefined, { IMPORT_LIMIT: '1' })
  const browser = useBrowser()

  it('says that the service refuses a large file', async () => {
    const page = await openCatalogue(browser(), service.url)
    await chooseInMenu(page, 'Import…')
    const buffer = Buffer.alloc(2 ** 21, 'title,author,year\n')
    await page.getByLabel('File').setInputFiles({ name: 'books.csv', mimeType: 'text/csv', buffer })
    await page.getByText('The file is larger than this service accepts').waitFor()
  })
})
