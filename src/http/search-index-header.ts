/** Tells that an answer is of an index that the last writes are not in yet. */
const NAME = 'X-Search-Index'

/** For the OpenAPI document. */
export const searchIndexHeader = {
  [NAME]: {
    type: 'string',
    enum: ['incomplete'],
    description: 'Only while many books are being indexed: some that were written lately may be missing.',
  },
}

export function announceIncomplete(reply: { header(name: string, value: string): unknown }): void {
  reply.header(NAME, 'incomplete')
}
