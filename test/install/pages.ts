import assert from 'node:assert/strict'
import { readWebFiles } from '../../src/http/web-page/assets.ts'
import { CATALOGUE, DOCS } from '../../src/http/web-page/pages.ts'

/** Checks that a service has the pages of this directory, with all their files. */
export async function assertPages(url: string): Promise<void> {
  for (const { path, prefix, source } of [CATALOGUE, DOCS]) {
    assert.equal((await fetch(url + path)).status, 200)
    const { version, files } = await readWebFiles(source)
    for (const [file, { coded }] of files) {
      const response = await fetch(`${url}${prefix}/${version}/${file}`)
      assert.equal(response.status, 200, file)
      assert.deepEqual(Buffer.from(await response.arrayBuffer()), coded.identity, file)
    }
  }
}
