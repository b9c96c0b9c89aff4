import type { databasesAt } from './databases.ts'
import type { ServerProcess } from './server-process.ts'

/** The engines that are servers of their own. */
export type ServerEngine = 'postgres' | 'mysql'

/** A database server that tests make databases on. It may be somebody's own, so it is not theirs to stop. */
export type Databases = ReturnType<typeof databasesAt>

export type Row = Record<string, unknown>

/**
 * How a server ends. `clean`: as when the system shuts down, connections are cut and everything is written.
 * `immediate`: the fastest end that the server knows, which needs recovery. `kill`: as in a crash.
 */
export type Stop = 'clean' | 'immediate' | 'kill'

/** A database server that the tests have started, and can do anything to. */
export interface DatabaseServer extends Databases, ReturnType<ServerProcess['controls']> {
  /** Holds everything of the server, the socket included. */
  readonly directory: string
  /** The path of its Unix socket: of MySQL the socket itself, of PostgreSQL the directory that it is in. */
  readonly socket: string
  /** The certificate of the authority that signed the server's, if it was started with `tls`. */
  readonly caFile: string | undefined
  /** @returns when every process of the server has ended, so that `start` works at once. */
  stop(how: Stop): Promise<void>
}

/** What PostgreSQL and MariaDB can be started with alike. */
export interface ServerOptions {
  /** Settings of the server, by name, beside those of the tests or instead of them. */
  readonly settings?: Record<string, string>
  /** Where to make the server's directory; by default the system's directory for temporary files. */
  readonly directory?: string | undefined
  /** Whether it offers TLS, with a certificate for `localhost` and 127.0.0.1; needs the command `openssl`. */
  readonly tls?: boolean
}
