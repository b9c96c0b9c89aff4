import { isIPv4, isIPv6 } from 'node:net'
import { LRUCache } from 'lru-cache'

/** The maximum size of a login's body, in bytes. It is small because anybody may send one without a token. */
export const LOGIN_BODY_LIMIT = 4096

/** Failures count for this long, in milliseconds. */
const WINDOW = 15 * 60 * 1000

/** Limits the memory to 100,000 addresses with one failure each. The least recently used ones are evicted first. */
const MAX_SIZE = 1_000_000
const SIZE_OF_ADDRESS = 9

/** An IPv6 /48 has this many times the limit of an address, because a site or a provider's customers may share it. */
const SITE_FACTOR = 4

interface LoginResult {
  /** Seconds until the address may try again. If it is not 0, the attempt was not counted. */
  readonly wait: number
  /** Whether the attempt failed and reached the limit, so that the address has to wait from now on. */
  readonly reachedLimit: boolean
}

/** Limits failed logins. The methods may return promises because another thread may keep the counts. */
export interface LoginLimit {
  /** @returns the seconds until the address may try again, or 0 if it may now. */
  wait(address: string): number | Promise<number>
  /** Counts the attempt if the login is wrong and the address may try now. */
  attempt(address: string, isRight: boolean): LoginResult | Promise<LoginResult>
}

/** Counts failed logins by address, and makes an address wait after too many (NIST SP 800-63B §5.2.2). */
export class LoginThrottle implements LoginLimit {
  readonly #limit: number
  /** The times of the failures of each network, oldest first, in milliseconds of a clock that nobody sets. */
  readonly #failures = new LRUCache<string, number[]>({
    maxSize: MAX_SIZE,
    sizeCalculation: (times) => SIZE_OF_ADDRESS + times.length,
  })

  /** @param limit the failures of one address within 15 minutes; 0 means no limit. */
  constructor(limit: number) {
    this.#limit = limit
  }

  wait(address: string, now = performance.now()): number {
    if (this.#limit === 0) return 0
    const waits = this.#limits(address).map(([network, limit]) => {
      const limitingFailure = this.#failures.get(network)?.at(-limit)
      return limitingFailure === undefined ? 0 : Math.ceil((limitingFailure + WINDOW - now) / 1000)
    })
    return Math.max(0, ...waits)
  }

  attempt(address: string, isRight: boolean): LoginResult {
    const wait = this.wait(address)
    return { wait, reachedLimit: wait === 0 && !isRight && this.recordFailure(address) }
  }

  /** Counts a failure. @returns whether the address has to wait now. */
  recordFailure(address: string, now = performance.now()): boolean {
    if (this.#limit === 0) return false
    let isTooMany = false
    for (const [network, limit] of this.#limits(address)) {
      const recent = (this.#failures.get(network) ?? []).filter((time) => time > now - WINDOW)
      recent.push(now)
      this.#failures.set(network, recent)
      isTooMany ||= recent.length >= limit
    }
    return isTooMany
  }

  #limits(address: string): [network: string, limit: number][] {
    return networks(address).map((network, i) => [network, i === 0 ? this.#limit : SITE_FACTOR * this.#limit])
  }
}

/** @returns the network that counts as one client: an IPv4 address, or an IPv6 /64. */
export function clientOf(address: string): string {
  const [network = ''] = networks(address)
  return network
}

/** The common key of all invalid addresses that a trusted proxy names. Clients can invent any number of them. */
const UNKNOWN = 'unknown'

/**
 * An IPv6 client usually has a whole /64, which therefore counts as one address. Some have a /48 with 65,536 of them.
 * @returns the narrowest network first. An IPv4-mapped IPv6 address is its IPv4 address.
 */
function networks(address: string): string[] {
  // Some proxies append the port, which a client could vary to appear as any number of addresses.
  const bare = /^(?:\[(.*)\]|([\d.]+))(?::\d+)?$/.exec(address)
  const plain = bare?.[1] ?? bare?.[2] ?? address
  if (isIPv4(plain)) return [plain]
  if (!isIPv6(plain)) return [UNKNOWN]
  const canonical = new URL(`http://[${plain.split('%')[0]}]`).hostname.slice(1, -1)
  const [head = [], tail = []] = canonical
    .split('::')
    .map((groups) => (groups === '' ? [] : groups.split(':')))
  const zeros = Array<string>(8 - head.length - tail.length).fill('0')
  const all = [...head, ...zeros, ...tail]
  const mapped = /^0:0:0:0:0:ffff:(.+):(.+)$/.exec(all.join(':'))
  if (mapped === null) return [all.slice(0, 4).join(':'), all.slice(0, 3).join(':')]
  const bytes = [mapped[1], mapped[2]].map((group) => Number.parseInt(group ?? '', 16))
  return [bytes.flatMap((two) => [two >> 8, two & 255]).join('.')]
}
