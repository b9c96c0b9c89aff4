import assert from 'node:assert/strict'
import { it } from 'node:test'
import { newFile, openFile } from './file.ts'

/** Texts of so many characters: a page has room for one book. */
const LENGTH = 200_000

/** Books after the first page, in two files. */
const [FEW, MANY] = [1, 100]

/** How often the first page of each file is read. */
const TURNS = 20

it('does not read the books that its page has no room for', async (t) => {
  await using all = new AsyncDisposableStack()
  const open = async (others: number) => {
    const file = all.use(newFile())
    const store = await openFile(file.path)
    all.defer(() => store.close())
    const book = { title: 'x'.repeat(LENGTH), author: 'A', year: 1 }
    await Promise.all(Array.from({ length: 1 + others }, () => store.create(book)))
    return { store, time: Number.POSITIVE_INFINITY }
  }
  const [few, many] = [await open(FEW), await open(MANY)]
  for (let turn = 0; turn < TURNS; turn++) {
    for (const each of [few, many]) {
      const begin = performance.now()
      const { value } = await each.store.list()[Symbol.asyncIterator]().next()
      each.time = Math.min(each.time, performance.now() - begin)
      assert.equal((JSON.parse(`[${value}]`) as unknown[]).length, 1)
    }
  }
  t.diagnostic(`${few.time.toFixed(2)} ms before few others, ${many.time.toFixed(2)} ms before many`)
  assert.ok(many.time < 10 * few.time, `${many.time} ms before ${MANY} others, ${few.time} ms before ${FEW}`)
})
