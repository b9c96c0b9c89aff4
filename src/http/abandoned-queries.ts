/**
 * Whether an error only tells that a query was given up, because the client is gone who asked.
 * @param request whose signal gave it up.
 */
export function isAbandoned(error: unknown, { signal }: { readonly signal: AbortSignal }): boolean {
  return signal.aborted && error === signal.reason
}
