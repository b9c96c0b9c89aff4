import { ACCOUNT } from './service.ts'

/** Logs in with the account of the tests. */
export async function logIn(url: string): Promise<string> {
  const response = await fetch(`${url}/token`, { method: 'POST', body: JSON.stringify(ACCOUNT) })
  const { data } = (await response.json()) as { data: { token: string } }
  return data.token
}
