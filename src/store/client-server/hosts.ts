import type { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import type { ConnectionOptions } from 'node:tls'
import { describeError } from '../../errors.ts'
import { CONNECT_TIME } from './connections.ts'
import { UNSUITABLE } from './errors.ts'
import { type TlsSettings, tlsOptions } from './tls.ts'

/**
 * Which servers suit: the values of libpq's target_session_attrs. Here `primary` means the same as `read-write`, and
 * `standby` the same as `read-only`.
 */
export const SESSION_ATTRS = [
  'any',
  'read-write',
  'primary',
  'read-only',
  'standby',
  'prefer-standby',
] as const
type SessionAttrs = (typeof SESSION_ATTRS)[number]

/** The order in which hosts are tried: as given, or at random. */
export const LOAD_BALANCE_HOSTS = ['disable', 'random'] as const

/** The driver has a default for what is undefined. */
export interface Address {
  readonly host: string | undefined
  readonly port: number | undefined
}

/** The hosts of a URL, and how to choose one of them. */
export interface HostChoice {
  /** At least one. */
  readonly hosts: readonly Address[]
  /** The default is `read-write` with several hosts, and `any` with one. */
  readonly sessionAttrs: SessionAttrs | undefined
  readonly loadBalanceHosts: (typeof LOAD_BALANCE_HOSTS)[number]
}

/** The least time for a host, and the time for a silent one; in milliseconds. */
const LEAST_SHARE = 500

/**
 * How long a silent host is tried after the others, in milliseconds. Otherwise every new connection would wait for it.
 * It is still tried, because it may be the next primary, and only busy.
 */
const TRIED_LAST_TIME = 10_000

/** The hosts that did not answer, and until when each is tried last, as `Date.now()`. */
export type SilentHosts = Map<string, number>

type Opened<Connection> = readonly [connection: Connection, isReadOnly: boolean]

const PARTS = 10

/**
 * The time for a connection, counted in parts. However long this process stands still, that uses up only one part: the
 * server may have answered long ago.
 */
export class ConnectTime {
  readonly milliseconds: number
  #stream: (() => Duplex) | undefined
  readonly #timer: NodeJS.Timeout

  constructor(milliseconds: number) {
    this.milliseconds = milliseconds
    const late = Object.assign(new Error('connecting took too long'), { code: 'ETIMEDOUT' })
    let parts = 0
    const pass = () => {
      if (++parts >= PARTS) this.#stream?.().destroy(late)
    }
    this.#timer = setInterval(pass, Math.max(1, milliseconds / PARTS))
  }

  /** Cuts this stream when the time is over, unless a later call names another one. */
  cut(stream: () => Duplex): void {
    this.#stream = stream
  }

  end(): void {
    clearInterval(this.#timer)
  }
}

/** Whether it matters if the server of a new connection is read-only. */
export const checksRole = (choice: HostChoice) => choice.hosts.length > 1 || wanted(choice) !== 'any'

/** Whether a server that refuses writes is wanted, or accepted. */
export const isForReads = ({ sessionAttrs = 'read-write' }: HostChoice) =>
  sessionAttrs !== 'read-write' && sessionAttrs !== 'primary'

export const hostNames = ({ hosts }: HostChoice) => hosts.map(({ host = 'localhost' }) => host).join(', ')

/**
 * Connects to the first host that can be reached and suits.
 * @param time for all hosts, in milliseconds. A host that does not answer leaves most of it to those after it.
 * @param silent is kept from one connection to the next.
 * @throws what `open` throws, for a single host. For several, an AggregateError that names each with its reason.
 */
export async function connectToHost<Connection>(
  choice: HostChoice,
  time: number,
  silent: SilentHosts,
  open: (address: Address, time: ConnectTime) => Promise<Opened<Connection>>,
  destroy: (connection: Connection) => void,
): Promise<Connection> {
  const ordered = choice.loadBalanceHosts === 'random' ? shuffled(choice.hosts) : choice.hosts
  const isSilent = (address: Address) => Number((silent.get(keyOf(address)) ?? 0) > Date.now())
  const hosts = ordered.toSorted((a, b) => isSilent(a) - isSilent(b))
  const attrs = wanted(choice)
  const end = Date.now() + time
  const errors: unknown[] = []
  let spare: Connection | undefined
  for (const [i, address] of hosts.entries()) {
    const left = end - Date.now()
    const key = keyOf(address)
    const isLast = i === hosts.length - 1
    const part = silent.has(key) ? LEAST_SHARE : Math.max(left / 3, LEAST_SHARE)
    const share = isLast ? left : Math.min(left, part)
    const begin = Date.now()
    const ofHost = new ConnectTime(share)
    try {
      const [connection, isReadOnly] = await open(address, ofHost)
      silent.delete(key)
      if (suits(attrs, isReadOnly)) {
        if (spare !== undefined) destroy(spare)
        return connection
      }
      if (attrs === 'prefer-standby' && spare === undefined) spare = connection
      else {
        destroy(connection)
        throw unsuitable(`the server is ${isReadOnly ? 'read-only' : 'writable'}, and ${attrs} is wanted`)
      }
    } catch (error) {
      if (Date.now() >= begin + share) silent.set(key, Date.now() + TRIED_LAST_TIME)
      errors.push(error)
    } finally {
      ofHost.end()
    }
  }
  if (spare !== undefined) return spare
  if (choice.hosts.length === 1) throw errors[0]
  const reasons = hosts.map((address, i) => `${keyOf(address)}: ${describeError(errors[i])}`)
  throw new AggregateError(errors, `no host can be used: ${reasons.join('; ')}`)
}

/** What the targets of both engines have. */
export interface ServerTarget extends HostChoice {
  readonly user: string | undefined
  readonly password: string | undefined
  readonly tls: TlsSettings
}

/** A driver whose connections lead to one of the hosts of a target, which is read again for each of them. */
export abstract class HostDriver<Connection extends Pick<EventEmitter, 'on'>, Target extends ServerTarget> {
  readonly #latest: () => Target
  readonly #silent: SilentHosts = new Map()
  protected target: Target
  /** Options for an encrypted connection. */
  protected encrypted: ConnectionOptions

  /** @param latest returns the target of each new connection. @throws StoreNotOpened if a TLS file cannot be read. */
  constructor(target: Target, latest = () => target) {
    this.#latest = latest
    this.target = target
    this.encrypted = tlsOptions(target.tls)
  }

  async connect(): Promise<Connection> {
    this.target = this.#latest()
    // Somebody may be replacing a file just then. As with any error of connecting, the pool tries again.
    this.encrypted = tlsOptions(this.target.tls)
    const open = (address: Address, time: ConnectTime) => this.open(address, time)
    return connectToHost(this.target, CONNECT_TIME, this.#silent, open, (each) => this.destroy(each))
  }

  onLost(connection: Connection, callback: () => void): void {
    connection.on('error', callback)
    connection.on('end', callback)
  }

  protected abstract open(address: Address, time: ConnectTime): Promise<Opened<Connection>>
  abstract destroy(connection: Connection): void
}

const keyOf = ({ host, port }: Address) => `${host}${port ? `:${port}` : ''}`

function wanted({ hosts, sessionAttrs }: HostChoice): SessionAttrs {
  return sessionAttrs ?? (hosts.length > 1 ? 'read-write' : 'any')
}

function suits(attrs: SessionAttrs, isReadOnly: boolean): boolean {
  return attrs === 'any' || isReadOnly === !['read-write', 'primary'].includes(attrs)
}

export const unsuitable = (message: string) => Object.assign(new Error(message), { code: UNSUITABLE })

function shuffled<Item>(items: readonly Item[]): Item[] {
  return items
    .map((item) => ({ item, order: Math.random() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ item }) => item)
}
