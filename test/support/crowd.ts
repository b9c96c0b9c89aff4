import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** Connections of clients that do harm, and what the service has said on each. */
export class Crowd implements Disposable {
  readonly #members: { readonly socket: Socket; text: string }[] = []

  /**
   * @param send what each does when it is connected.
   * @param reads whether it takes what comes.
   */
  async join(url: string, count: number, send: (socket: Socket) => void, reads = true): Promise<void> {
    const { hostname, port } = new URL(url)
    for (let i = 0; i < count; i++) {
      const socket = connect({ host: hostname, port: Number(port) })
      const member = { socket, text: '' }
      this.#members.push(member)
      socket.on('error', () => {})
      if (reads) {
        socket.setEncoding('latin1').on('data', (more: string) => {
          if (member.text.length < 1000) member.text += more
        })
      } else socket.pause()
      await Promise.race([once(socket, 'connect'), once(socket, 'close')])
      send(socket)
    }
  }

  /** How often each status was the first response; 0 for none. */
  statuses(): Map<number, number> {
    const statuses = new Map<number, number>()
    for (const { text } of this.#members) {
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    return statuses
  }

  get open(): number {
    return this.#members.filter(({ socket }) => !socket.destroyed && !socket.readableEnded).length
  }

  [Symbol.dispose](): void {
    for (const { socket } of this.#members) socket.destroy()
  }
}
