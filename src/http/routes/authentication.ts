import type { onRequestHookHandler } from 'fastify'
import type { Auth } from '../../auth/auth.ts'
import { failure } from '../envelope.ts'

/** Lets a request pass only with a valid token in its Authorization header (§5.4, §5.5). */
export function requireToken(auth: Auth): onRequestHookHandler {
  return (request, _reply, done) => {
    const token = request.headers.authorization
    if (token === undefined || token === '') return done(failure.tokenRequired)
    const settle = (isValid: boolean) => (isValid ? done() : done(failure.invalidToken))
    const isValid = auth.verify(token)
    if (typeof isValid === 'boolean') settle(isValid)
    else isValid.then(settle, done)
  }
}
