import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ResponseParser } from '../src/load/response-parser.ts'

const RESPONSES = {
  'with a length':
    'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\nhello\r\n\r\nyou',
  'without a body': 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
  'in chunks':
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n1A;x=y\r\n\r\n0\r\n\r\nabcdefghijklmnopqrs\r\n0\r\n\r\n',
  'with a trailer':
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\nServer-Timing: db\r\n\r\n',
}

describe('ResponseParser', () => {
  for (const [kind, response] of Object.entries(RESPONSES)) {
    it(`finds the end of a response ${kind}, wherever it is cut`, () => {
      const data = Buffer.from(response)
      for (let first = 0; first < data.length; first++) {
        for (let second = first; second < data.length; second++) {
          const parser = new ResponseParser()
          assert.equal(parser.push(data.subarray(0, first)), false)
          assert.equal(parser.push(data.subarray(first, second)), false, `cut at ${first} and ${second}`)
          assert.equal(parser.push(data.subarray(second)), true, `cut at ${first} and ${second}`)
          assert.equal(parser.status, 200)
        }
      }
    })
  }

  it('reads one response after the other', () => {
    const parser = new ResponseParser()
    const { 'in chunks': chunks, 'with a length': length } = RESPONSES
    for (const response of [chunks, length.replace('200 OK', '404 Not Found'), chunks]) {
      assert.equal(parser.push(Buffer.from(response)), true)
      assert.equal(parser.status, response.includes('404') ? 404 : 200)
    }
  })

  const WRONG = {
    'what is not HTTP': 'SSH-2.0-OpenSSH\r\n\r\n',
    'a response of unknown length': 'HTTP/1.1 200 OK\r\n\r\n',
    'a chunk without a size': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nhello\r\n',
    'bytes after the end': `${RESPONSES['with a length']}!`,
    'two responses at once': RESPONSES['without a body'].repeat(2),
  }
  for (const [kind, data] of Object.entries(WRONG)) {
    it(`refuses ${kind}`, () => assert.throws(() => new ResponseParser().push(Buffer.from(data))))
  }
})
