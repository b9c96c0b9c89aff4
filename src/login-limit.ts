import { isIPv4, isIPv6 } from 'node:net'
import { LRUCache } from 'lru-cache'

/** The time in which failures are counted, in milliseconds. */
const WINDOW = 15 * 60 * 1000

/** Bounds the memory: 100,000 addresses with one failure each, fewer with more, the oldest forgotten first. */
const MAX_SIZE = 1_000_000
const SIZE_OF_ADDRESS = 9

/** Counts failed logins by address and says when one has had too many (NIST SP 800-63B §5.2.2). */
export class LoginLimit {
  readonly #limit: number
  /** When each address failed, the oldest first; milliseconds. */
  readonly #failures = new LRUCache<string, number[]>({
    maxSize: MAX_SIZE,
    sizeCalculation: (times) => SIZE_OF_ADDRESS + times.length,
  })

  /** @param limit of failures from one address within 15 minutes; 0 for none. */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** @returns seconds after which the address may try again, or 0 if it may now. */
  wait(address: string, now = Date.now()): number {
    const times = this.#failures.get(network(address))
    const decisive = times?.at(-this.#limit)
    if (this.#limit === 0 || times === undefined || decisive === undefined || times.length < this.#limit)
      return 0
    return Math.max(0, Math.ceil((decisive + WINDOW - now) / 1000))
  }

  /** Counts a failure. @returns whether it is the one after which the address has to wait. */
  failed(address: string, now = Date.now()): boolean {
    if (this.#limit === 0) return false
    const key = network(address)
    const recent = (this.#failures.get(key) ?? []).filter((time) => time > now - WINDOW)
    recent.push(now)
    this.#failures.set(key, recent)
    return recent.length >= this.#limit
  }

  succeeded(address: string): void {
    this.#failures.delete(network(address))
  }
}

/** The key of whatever a trusted proxy names that is no address; one for all, since clients can make up any number. */
const UNKNOWN = 'unknown'

/** An IPv6 client usually has a whole /64, so that is what counts; an IPv4 address may be written as IPv6. */
function network(address: string): string {
  // Some proxies name the port too, with which a client would have as many addresses as it likes.
  const bare = /^(?:\[(.*)\]|([\d.]+))(?::\d+)?$/.exec(address)
  const plain = bare?.[1] ?? bare?.[2] ?? address
  if (isIPv4(plain)) return plain
  if (!isIPv6(plain)) return UNKNOWN
  const canonical = new URL(`http://[${plain.split('%')[0]}]`).hostname.slice(1, -1)
  const [head = [], tail] = canonical.split('::').map((groups) => (groups === '' ? [] : groups.split(':')))
  const zeros = tail === undefined ? 0 : 8 - head.length - tail.length
  const all = [...head, ...Array<string>(zeros).fill('0'), ...(tail ?? [])]
  const mapped = /^0:0:0:0:0:ffff:(.+):(.+)$/.exec(all.join(':'))
  if (mapped === null) return all.slice(0, 4).join(':')
  const bytes = [mapped[1], mapped[2]].map((group) => Number.parseInt(group ?? '', 16))
  return bytes.flatMap((two) => [two >> 8, two & 255]).join('.')
}
