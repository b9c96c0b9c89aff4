import { type Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'

/** Sends a request, such as `GET /books`, and takes its response. @returns the status, 0 without a whole response. */
export function ask(
  url: string,
  agent: Agent,
  line: string,
  authorization: string,
  body = '',
): Promise<{ status: number }> {
  const [method, path] = line.split(' ') as [string, string]
  return new Promise((resolve) => {
    const headers = { authorization, 'content-length': Buffer.byteLength(body) }
    const asked = request(url + path, { agent, method, headers }, (response) => {
      text(response).then(
        () => resolve({ status: response.statusCode ?? 0 }),
        () => resolve({ status: 0 }),
      )
    })
    asked.once('error', () => resolve({ status: 0 })).end(body)
  })
}
