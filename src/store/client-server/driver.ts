import type { UnavailableReason } from '../../catalogue/store.ts'

/** How long connecting may take, in milliseconds: by default less than an operation, so that an error names the cause. */
export const CONNECT_TIME = 3000

/** What an engine knows about its errors. */
export interface ErrorClassifier {
  /** The database cannot be used now, but perhaps later. */
  isUnavailable(error: unknown): boolean
  /** Why the database cannot be used now. */
  reasonOf(error: unknown): UnavailableReason
  /** The server may accept a connection in a moment, as while it starts. */
  isNotReady(error: unknown): boolean
  /** The server rolled the work back because of a conflict, so that it can be done again. */
  isRolledBack(error: unknown): boolean
  /**
   * The server starts or stops, or may not write any more, and did nothing. Another connection may lead to a server
   * that can do the work.
   */
  isRoleChange(error: unknown): boolean
  /** The connection failed, or the server ended it. It is not known whether the work was done. */
  isLost(error: unknown): boolean
  /** The server reported that it refused the work, and certainly did nothing. */
  isRefused(error: unknown): boolean
  /** The write reached the server after its deadline, and the server did nothing. */
  isExpired(error: unknown): boolean
  /** A table, or a part of one, is not there, perhaps because the database was replaced by a new one. */
  isMissingTable(error: unknown): boolean
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
