import { writeFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { browserMissing, useBrowser } from '../support/browser.ts'
import { findCommand } from '../support/find-command.ts'
import { freePort } from '../support/free-port.ts'
import { ServerDirectory } from '../support/server-directory.ts'
import { ServerProcess } from '../support/server-process.ts'
import { useService } from '../support/use-service.ts'
import { assertAccessible, openCatalogue } from './page.ts'

const FILE = findCommand(['nginx'], ['/usr/sbin'])
const skip = browserMissing || (FILE === undefined ? 'no nginx: install it' : false)

/** In bytes, more than nginx passes on by default. */
const SIZE = 3_000_000

describe('the web page behind nginx', { skip }, () => {
  const service = useService()
  const browser = useBrowser()

  /** Starts nginx with its defaults, before the service. */
  async function startNginx() {
    const directory = new ServerDirectory()
    const port = await freePort()
    writeFileSync(
      directory.join('nginx.conf'),
      `daemon off;
       pid nginx.pid;
       error_log stderr notice;
       events {}
       http {
         access_log off;
         client_body_temp_path body;
         proxy_temp_path proxy;
         fastcgi_temp_path fastcgi;
         uwsgi_temp_path uwsgi;
         scgi_temp_path scgi;
         server {
           listen 127.0.0.1:${port};
           location / {
             proxy_pass ${service.url};
             proxy_set_header Host $http_host;
           }
         }
       }`,
    )
    const nginx = new ServerProcess({
      file: FILE ?? '',
      args: ['-p', directory.path, '-c', directory.join('nginx.conf'), '-e', 'stderr'],
      ready: /start worker processes/,
      directory,
      quit: 'SIGQUIT',
    })
    await nginx.start()
    return { url: `http://127.0.0.1:${port}`, remove: () => nginx.remove() }
  }

  it('says that nginx, and not the service, refuses a large file', async () => {
    const nginx = await startNginx()
    try {
      const page = await openCatalogue(browser(), nginx.url)
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
