import type { FastifyReply, FastifyRequest } from 'fastify'
import { Login, LoginFields, TokenData } from '../../auth/auth.ts'
import { LOGIN_BODY_LIMIT } from '../../auth/login-throttle.ts'
import type { Config } from '../../config.ts'
import { isFromForeignPage } from '../cors.ts'
import { envelope, failure, success } from '../envelope.ts'
import type { Services } from '../services.ts'
import { validBody } from '../valid-input.ts'
import { describeEndpoint, type Endpoint } from './endpoint-schema.ts'

type LoginSettings = Pick<Config, 'trustProxy' | 'corsOrigins'>

/** Refused logins are logged for at most this many origins, because anybody can make origins up. */
const MAX_ORIGINS = 20

/** POST /token */
export function logIn({ auth, loginLimit }: Services, settings: LoginSettings): Endpoint {
  let mayWarnOfProxy = settings.trustProxy === false
  const warnedOrigins = new Set<string>()

  /** Failed logins may be counted for a proxy instead of for its clients. */
  function warnOfProxy({ ip, log }: FastifyRequest): void {
    mayWarnOfProxy = false
    log.warn(
      { ip },
      'X-Forwarded-For is ignored: behind a proxy, set TRUST_PROXY, or its clients share one login limit',
    )
  }

  /** Warns once for each refused origin. If a proxy replaces Host, the service's own web page looks foreign. */
  function warnOfOrigin({ headers: { origin = '' }, host, log }: FastifyRequest): void {
    if (warnedOrigins.has(origin) || warnedOrigins.size === MAX_ORIGINS) return
    warnedOrigins.add(origin)
    log.warn(
      { origin, host },
      'a login was refused, because it came from a page whose origin is not that of the request. If it is the page of ' +
        'this service, a proxy has replaced the Host header: have it pass Host on (nginx: proxy_set_header Host ' +
        '$http_host), or send X-Forwarded-Host and set TRUST_PROXY. If another page may log in, add its origin to ' +
        'CORS_ORIGIN',
    )
  }

  const schema = describeEndpoint({
    id: 'logIn',
    summary: 'Exchange the username and the password for a token',
    description:
      'The token is valid for 15 minutes. Send it, and nothing else, in the header `Authorization` of further requests.',
    tag: 'Login',
    body: Login,
    success: success.tokenGenerated,
    data: TokenData,
    failures: [
      failure.invalidPayload,
      failure.invalidCredentials,
      failure.crossOrigin,
      failure.tooManyRequests,
      failure.tokenNotGenerated,
    ],
  })
  return {
    schema,
    bodyLimit: LOGIN_BODY_LIMIT,
    config: { unreadable: failure.invalidPayload },
    onRequest: async (request, reply) => {
      if (mayWarnOfProxy && request.headers['x-forwarded-for'] !== undefined) warnOfProxy(request)
      // Otherwise any web page could use up the attempts of its visitors' addresses.
      if (isFromForeignPage(request, settings.corsOrigins)) {
        warnOfOrigin(request)
        throw failure.crossOrigin
      }
      refuseIfTooMany(await loginLimit.wait(request.ip), reply)
    },
    handler: async (request, reply) => {
      // Accepts more than clients should send.
      const isRight = auth.matches(validBody(request, LoginFields))
      // Other logins from the same address may have failed while this body was arriving.
      const { wait, reachedLimit } = await loginLimit.attempt(request.ip, isRight)
      refuseIfTooMany(wait, reply)
      if (reachedLimit) request.log.warn({ ip: request.ip }, 'too many failed logins from this address')
      if (!isRight) throw failure.invalidCredentials
      const token = await auth.issue().catch((error: unknown) => {
        request.log.error({ err: error }, 'a token could not be signed')
        throw failure.tokenNotGenerated
      })
      return envelope(success.tokenGenerated, { token })
    },
  }
}

/** Refuses every login, right or wrong, from an address that has failed too often. */
function refuseIfTooMany(wait: number, reply: FastifyReply): void {
  if (wait === 0) return
  reply.header('retry-after', wait)
  throw failure.tooManyRequests
}
