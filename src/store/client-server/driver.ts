/** How long connecting may take, in milliseconds: less than DEADLINE, so that an error names the cause. */
export const CONNECT_TIME = 3000

/** What an engine knows about its errors. */
export interface ErrorClassifier {
  /** The database cannot be used now, but perhaps later. */
  isUnavailable(error: unknown): boolean
  /** The server may accept a connection in a moment, as while it starts. */
  isNotReady(error: unknown): boolean
  /** The server rolled the work back because of a conflict, so that it can be done again. */
  isRolledBack(error: unknown): boolean
  /** The server refused to write on this connection and did nothing. Another connection may lead to a writable server. */
  isReadOnly(error: unknown): boolean
  /** The server reported that it refused the work. It did nothing, and may do other work. */
  isRefused(error: unknown): boolean
  /** The server does not know the statement: it is too old, or another product. */
  isUnknownSyntax(error: unknown): boolean
}

/** What the pool needs to know about the connections of a database. */
export interface Driver<Connection> {
  readonly errors: ErrorClassifier
  /** Connects within CONNECT_TIME. */
  connect(): Promise<Connection>
  /** Sets the function to call when the connection ends by itself. */
  onLost(connection: Connection, callback: () => void): void
  /**
   * Tells the server to stop what it is doing on a connection that is about to be destroyed. Many servers do not
   * notice that the client is gone, and the number of their connections would grow.
   */
  cancel(connection: Connection): Promise<void>
  /** Cuts the connection at once, whatever it is doing. */
  destroy(connection: Connection): void
  /** Ends an idle connection as its protocol wants it. */
  end(connection: Connection): Promise<void>
}
