/**
 * Whether an error only says that a query was given up because its client has gone.
 * @param request the request of that client. Its signal gave the query up.
 */
export function isAbandoned(error: unknown, { signal }: { readonly signal: AbortSignal }): boolean {
  return signal.aborted && error === signal.reason
}
