/** What the parser waits for next. */
type Part = 'head' | 'body' | 'chunk size' | 'chunk' | 'chunk end' | 'trailer'

const LINE_END = '\r\n'
const HEAD_END = '\r\n\r\n'

/**
 * Reads the responses of an HTTP/1.1 connection on which each request waits for the answer to the one before it.
 * It keeps nothing of a body, so that lists of any size cost the generator little.
 */
export class ResponseParser {
  /** Of the response that ended last. */
  status = 0
  #part: Part = 'head'
  /** The beginning of a head or a line that is not there as a whole. */
  #text = ''
  /** Bytes that are still to come of a body, a chunk or the end of one. */
  #rest = 0

  /**
   * @param data what has arrived, cut anywhere.
   * @returns whether the response has ended.
   * @throws Error if it is no HTTP/1.1 response, or something follows its end.
   */
  push(data: Buffer): boolean {
    let position = 0
    while (position < data.length) {
      if (this.#part === 'body' || this.#part === 'chunk' || this.#part === 'chunk end') {
        const taken = Math.min(this.#rest, data.length - position)
        position += taken
        this.#rest -= taken
        if (this.#rest > 0) return false
        if (this.#part === 'body') return this.#end(data, position)
        if (this.#part === 'chunk') this.#expect('chunk end', LINE_END.length)
        else this.#expect('chunk size')
        continue
      }
      const end = this.#part === 'head' ? HEAD_END : LINE_END
      // The end of the head may itself be cut.
      const before = this.#text.length
      const text = this.#text + data.toString('latin1', position)
      const at = text.indexOf(end)
      if (at === -1) {
        this.#text = text
        return false
      }
      this.#text = ''
      position += at + end.length - before
      if (this.#readText(text.slice(0, at))) return this.#end(data, position)
    }
    return false
  }

  /** @returns whether nothing more of the response is to come. */
  #readText(text: string): boolean {
    switch (this.#part) {
      case 'head':
        return this.#readHead(text)
      case 'chunk size': {
        const size = Number.parseInt(text, 16)
        if (Number.isNaN(size)) throw new Error(`no size of a chunk: ${text}`)
        if (size === 0) this.#expect('trailer')
        else this.#expect('chunk', size)
        return false
      }
      default:
        return text === '' // The trailer ends with an empty line.
    }
  }

  #readHead(head: string): boolean {
    const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(head) ?? []
    if (status === undefined) throw new Error(`no HTTP/1.1 response: ${head.slice(0, 100)}`)
    this.status = Number(status)
    const [, length] = /\r\ncontent-length: *(\d+)/i.exec(head) ?? []
    if (length !== undefined) {
      this.#expect('body', Number(length))
      return this.#rest === 0
    }
    if (!/\r\ntransfer-encoding: *chunked/i.test(head)) throw new Error('a response of unknown length')
    this.#expect('chunk size')
    return false
  }

  #expect(part: Part, bytes = 0): void {
    this.#part = part
    this.#rest = bytes
  }

  #end(data: Buffer, position: number): boolean {
    if (position < data.length) throw new Error('something follows the response')
    this.#expect('head')
    return true
  }
}
