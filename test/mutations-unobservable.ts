interface Entry {
  readonly file: string
  /** The text of the line, without what stands before and after it. */
  readonly line: string
  readonly operator: string
  readonly reason: string
}

/**
 * Mistakes that `mutations-run.ts` leaves out because they change nothing that can be observed. An entry whose line or
 * operator is no longer there makes the run fail.
 */
export const UNOBSERVABLE: readonly Entry[] = [
  {
    file: 'src/auth/auth.ts',
    line: 'if (token.length > REMEMBERED_TOKEN_LENGTH) return',
    operator: 'greater',
    reason: 'A token of exactly this length is verified again, with the same result.',
  },
  {
    file: 'src/http/page-cursor.ts',
    line: "const digestOf = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 16)",
    operator: 'number',
    reason: 'A digest of 15 characters is as good as one of 16.',
  },
]
