/** Says that the index, and so the answer, may lack the last writes. */
export function announceIncomplete(reply: { header(name: string, value: string): unknown }): void {
  reply.header('x-search-index', 'incomplete')
}
