/** The messages of the contract, for contenders that have no place of their own for them. */
export const MESSAGES = {
  tokenGenerated: 'Token generated successfully',
  created: 'Book created successfully',
  listed: 'Books retrieved successfully',
  retrieved: 'Book retrieved successfully',
  updated: 'Book updated successfully',
  deleted: 'Book deleted successfully',
  invalidPayload: 'Invalid request payload',
  invalidInput: 'Invalid input',
  invalidCredentials: 'Invalid credentials',
  tokenRequired: 'Authorization token required',
  invalidToken: 'Invalid token',
  notFound: 'Book not found',
} as const

/** The lifetime of a token, in seconds. */
export const TOKEN_LIFETIME = 15 * 60

/** What every response is wrapped in. */
export function envelope<Data>(status: number, message: string, data: Data) {
  return { status, message, data }
}
