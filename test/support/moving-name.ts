import { globSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from './service.ts'

/** Lets a process find names in a file of its own instead of /etc/hosts (cwrap.org). */
const LIBRARY = globSync('/usr/lib/*/libnss_wrapper.so').at(0)

/** Why tests with names are skipped, or false. Where CLUSTERS is `required`, they fail without it instead. */
export const namesMissing =
  LIBRARY === undefined && process.env.CLUSTERS !== 'required'
    ? 'no names that move: install libnss-wrapper'
    : false

/** A name that leads to one address after the other, for processes with its settings. */
export class MovingName implements Disposable {
  readonly name = 'database.test'
  /** Environment variables. */
  readonly settings: Readonly<Record<string, string>>
  #address = ''
  readonly #directory = temporaryDirectory()
  readonly #file = join(this.#directory.path, 'hosts')

  /** @throws Error if the library is not installed. */
  constructor() {
    if (LIBRARY === undefined) throw new Error('there is no libnss_wrapper.so: install libnss-wrapper')
    this.settings = { LD_PRELOAD: LIBRARY, NSS_WRAPPER_HOSTS: this.#file }
  }

  get address(): string {
    return this.#address
  }

  /** Leads to this address from now on; if it has just been moved, from the next second on. */
  move(address: string): void {
    if (address === this.#address) return
    this.#address = address
    writeFileSync(this.#file, `${address} ${this.name}\n`)
  }

  [Symbol.dispose](): void {
    this.#directory.remove()
  }
}
