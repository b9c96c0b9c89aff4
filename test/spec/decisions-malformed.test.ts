import { describe, it } from 'node:test'
import { assertResponse, targets } from './client.ts'
import { exchange, keepOpen, request } from './raw.ts'
import { useSession } from './session.ts'

const HOST = 'Host: localhost\r\n'

const MALFORMED: Record<string, string | Uint8Array> = {
  'no HTTP': 'HELLO\r\n\r\n',
  'an unknown method': `FOO /books HTTP/1.1\r\n${HOST}\r\n`,
  'no version': `GET /books\r\n${HOST}\r\n`,
  'version 2.0 in the form of 1.1': `GET /books HTTP/2.0\r\n${HOST}\r\n`,
  'an unknown version': `GET /books HTTP/9.9\r\n${HOST}\r\n`,
  'a space in the path': `GET /book/ 1 HTTP/1.1\r\n${HOST}\r\n`,
  'no Host': 'GET /books HTTP/1.1\r\n\r\n',
  'a header without a colon': `GET /books HTTP/1.1\r\n${HOST}nonsense\r\n\r\n`,
  'a space before the colon': `GET /books HTTP/1.1\r\n${HOST}Accept : x\r\n\r\n`,
  'a NUL in a header': `GET /books HTTP/1.1\r\n${HOST}Accept: a\0b\r\n\r\n`,
  'a Content-Length that is no number': `POST /token HTTP/1.1\r\n${HOST}Content-Length: x\r\n\r\n{}`,
  'a negative Content-Length': `POST /token HTTP/1.1\r\n${HOST}Content-Length: -1\r\n\r\n{}`,
  'two Content-Lengths': `POST /token HTTP/1.1\r\n${HOST}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{} `,
  'Content-Length and chunks': `POST /token HTTP/1.1\r\n${HOST}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
  'two Hosts': `GET /books HTTP/1.1\r\n${HOST}Host: other\r\n\r\n`,
  'a Host that is none': 'GET /books HTTP/1.1\r\nHost: a b/c\r\n\r\n',
  'an HTTP/2 connection preface': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'a line break within a header': `GET /books HTTP/1.1\r\n${HOST}Accept: a\rb\r\n\r\n`,
  'an encoding other than chunked': `POST /token HTTP/1.1\r\n${HOST}Transfer-Encoding: x\r\n\r\n{}`,
  'the beginning of a TLS connection': Buffer.from('16030100a5010000a10303', 'hex'),
}

const HEADER_BLOCKS: Record<string, (size: number) => string[]> = {
  'one header': (size) => [`X-Large: ${'x'.repeat(size)}`],
  Authorization: (size) => [`Authorization: ${'x'.repeat(size)}`],
  'many headers': (size) => Array.from({ length: size / 64 }, (_, i) => `X-${i}: `.padEnd(62, 'x')),
}

for (const target of targets()) {
  describe(`decisions on malformed HTTP (${target.name})`, () => {
    const session = useSession(target)

    for (const [name, bytes] of Object.entries(MALFORMED)) {
      it(`decision: malformed HTTP is 400 Bad request, enveloped, then closed: ${name}`, async () => {
        assertResponse(await exchange(target, bytes), 400, 'Bad request', null)
      })
    }

    it('decision: malformed HTTP is 400 Bad request, enveloped, then closed: a chunk without its size', async () => {
      const headers = [`Authorization: ${session.token}`, 'Transfer-Encoding: chunked']
      const bytes = `${keepOpen(request(target, 'POST', '/book', headers))}x\r\n{}\r\n0\r\n\r\n`
      assertResponse(await exchange(target, bytes), 400, 'Bad request', null)
    })

    for (const [name, make] of Object.entries(HEADER_BLOCKS)) {
      it(`decision: a header block over 16 KiB is 431 Request header fields too large, enveloped, then closed: ${name}`, async () => {
        const allowed = await exchange(target, request(target, 'GET', '/nothing', make(15 * 1024)))
        assertResponse(allowed, 404, 'Not found', null)
        const large = request(target, 'GET', '/nothing', make(17 * 1024))
        const refused = await exchange(target, keepOpen(large))
        assertResponse(refused, 431, 'Request header fields too large', null)
      })
    }

    it('decision: a header block over 16 KiB is 431 Request header fields too large, enveloped, then closed: the path', async () => {
      const bytes = keepOpen(request(target, 'GET', `/${'x'.repeat(17 * 1024)}`))
      assertResponse(await exchange(target, bytes), 431, 'Request header fields too large', null)
    })
  })
}
