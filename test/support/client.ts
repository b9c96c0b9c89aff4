import { setTimeout as sleep } from 'node:timers/promises'
import { ACCOUNT } from './service.ts'

/** Logs in with the account of the tests. */
export async function logIn(url: string): Promise<string> {
  const response = await fetch(`${url}/token`, { method: 'POST', body: JSON.stringify(ACCOUNT) })
  // A service that has stood still refuses requests for a moment.
  if (response.status === 503) return sleep(200).then(() => logIn(url))
  const { data } = (await response.json()) as { data: { token: string } }
  return data.token
}

/** Searches until no book is missing from the index. */
export async function untilIndexed(url: string, authorization: string): Promise<void> {
  for (;;) {
    const response = await fetch(`${url}/books?q=a&limit=1`, { headers: { authorization } })
    await response.arrayBuffer()
    if (response.ok && !response.headers.has('x-search-index')) return
    await sleep(200)
  }
}
