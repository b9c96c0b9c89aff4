import { describe, it } from 'node:test'
import { browserMissing, useBrowser } from '../support/browser.ts'
import { freePort } from '../support/free-port.ts'
import { startNginx } from '../support/nginx.ts'
import { findProgram } from '../support/program.ts'
import { ServerDirectory } from '../support/server-directory.ts'
import { useService } from '../support/use-service.ts'
import { assertAccessible, openCatalogue } from './page.ts'

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
      await page.getByRole('button', { name: 'Import…' }).click()
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

describe('the web page of a service with a small limit', { skip: browserMissing }, () => {
  const service = useService(undefined, { IMPORT_LIMIT: '1' })
  const browser = useBrowser()

  it('says that the service refuses a large file', async () => {
    const page = await openCatalogue(browser(), service.url)
    await page.getByRole('button', { name: 'Import…' }).click()
    const buffer = Buffer.alloc(2 ** 21, 'title,author,year\n')
    await page.getByLabel('File').setInputFiles({ name: 'books.csv', mimeType: 'text/csv', buffer })
    await page.getByText('The file is larger than this service accepts').waitFor()
  })
})
