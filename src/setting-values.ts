import { isIP } from 'node:net'

/** None, the one before the service, so many in a row, or those with these addresses or networks. */
export type TrustProxy = boolean | number | string[]

/** Names of networks that stand for their addresses. */
const NETWORKS = ['loopback', 'linklocal', 'uniquelocal']

/** @returns what reads a number within the bounds, and throws an Error that quotes the text if it is none. */
export function wholeNumber(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const number = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (!(number >= minimum && number <= maximum)) throw wrong(text)
    return number
  }
}

/** @throws Error that quotes what is wrong. */
export function parseTrustProxy(text: string): TrustProxy {
  if (text === 'true' || text === 'false') return text === 'true'
  if (/^[0-9]{1,3}$/.test(text)) return Number(text)
  return items(text).map((item) => {
    const [address = '', bits, ...others] = item.split('/')
    const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1
    const isNetwork = bits === undefined || (/^[0-9]{1,3}$/.test(bits) && Number(bits) <= longest)
    if (!NETWORKS.includes(item) && !(longest > 0 && isNetwork && others.length === 0)) throw wrong(item)
    return item
  })
}

/** @throws Error that quotes what is wrong. */
export function parseOrigins(text: string): string[] {
  return items(text).map((item) => {
    const isOrigin = /^https?:/.test(item) && URL.canParse(item) && new URL(item).origin === item
    if (item !== '*' && !isOrigin) throw wrong(item)
    return item
  })
}

function items(text: string): string[] {
  return text.split(',').map((item) => item.trim())
}

function wrong(text: string): Error {
  return new Error(`is ${JSON.stringify(text)}`)
}
