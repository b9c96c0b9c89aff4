import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type PostgresTarget,
  parsePostgresKeywords,
  parsePostgresUrl,
} from '../../../src/store/postgres/url.ts'

/** What a URL sets, apart from what has its default. */
type Given = Partial<Omit<PostgresTarget, 'tls'>> & {
  /** Of a single host. */
  readonly host?: string
  readonly port?: number | undefined
  readonly tls?: Partial<PostgresTarget['tls']>
}

/** A target with defaults where nothing is given. */
export const filled = ({ tls, host, port, ...given }: Given): PostgresTarget => ({
  user: undefined,
  password: undefined,
  hosts: [{ host, port }],
  sessionAttrs: undefined,
  loadBalanceHosts: 'disable',
  database: undefined,
  channelBinding: 'prefer',
  options: undefined,
  applicationName: 'book-catalogue',
  ...given,
  tls: { mode: 'prefer', authority: undefined, certificate: undefined, key: undefined, ...tls },
})

/** As without any variables in the environment. */
export const url = (text: string) => parsePostgresUrl(text, {})
export const keywords = (text: string) => parsePostgresKeywords(text, {})

/** Tests that each text means what is given with it, and has defaults else. */
export function means(
  parse: (text: string) => PostgresTarget,
  cases: readonly (readonly [string, Given])[],
): void {
  for (const [text, given] of cases) {
    it(`${JSON.stringify(text)} is read`, () => assert.deepEqual(parse(text), filled(given)))
  }
}

/** Tests that each text is refused with a message like this. */
export function refuses(
  parse: (text: string) => PostgresTarget,
  cases: readonly (readonly [string, RegExp])[],
): void {
  for (const [text, message] of cases) {
    it(`${JSON.stringify(text)} is refused`, () => assert.throws(() => parse(text), { message }))
  }
}

export const FULL = { user: 'u', password: 'p', host: 'h', port: 5433, database: 'd' }

export const at = (host: string, port?: number) => ({ host, port })
