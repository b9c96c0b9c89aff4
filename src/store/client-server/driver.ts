import type { ErrorMeaning } from './errors.ts'

/** How long connecting may take, in milliseconds: by default less than an operation, so that an error names the cause. */
export const CONNECT_TIME = 3000

/** What the pool needs to know about the connections of a database. */
export interface Driver<Connection> {
  meaningOf(error: unknown): ErrorMeaning
  /** Connects within CONNECT_TIME. */
  connect(): Promise<Connection>
  /** Sets the function to call when the connection ends by itself. */
  onLost(connection: Connection, callback: () => void): void
  /**
   * Tells the server to stop what it is doing on a connection that is about to be destroyed. Many servers do not
   * notice that the client is gone, and the number of their connections would grow.
   */
  cancel(connection: Connection): Promise<void>
  /** Ends the transaction of a connection on which the server has refused something. @throws if the connection is lost. */
  reset(connection: Connection): Promise<unknown>
  /** Cuts the connection at once, whatever it is doing. */
  destroy(connection: Connection): void
  /** Ends an idle connection as its protocol wants it. */
  end(connection: Connection): Promise<void>
}
