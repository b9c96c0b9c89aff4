/** Says that the index, and so the answer, may lack the last writes. */
const NAME = 'X-Search-Index'

/** For the OpenAPI document. */
export const searchIndexHeader = {
  [NAME]: {
    type: 'string',
    enum: ['incomplete'],
    description:
      'Sent only while many books are being indexed. Books that were written lately may be missing from the answer.',
  },
}

export function announceIncomplete(reply: { header(name: string, value: string): unknown }): void {
  reply.header(NAME, 'incomplete')
}
