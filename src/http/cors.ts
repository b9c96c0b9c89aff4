import cors from '@fastify/cors'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** How long a browser may remember the answer to a preflight request, in seconds. */
const CACHE_TIME = 600

/** Lets pages of these origins call the service. `*` stands for all origins. */
export async function allowOrigins(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  const isForAll = origins.includes('*')
  await app.register(cors, {
    delegator: ({ headers }, done) => {
      const { origin } = headers
      done(null, {
        origin: origin !== undefined && isListed(origins, origin) && (isForAll ? '*' : origin),
        preflight: headers['access-control-request-method'] !== undefined,
        strictPreflight: false,
        methods: ['GET', 'HEAD', 'POST', 'PUT', 'DELETE'],
        allowedHeaders: ['Authorization', 'Content-Type', 'If-Match', 'If-None-Match', 'X-Request-Id'],
        exposedHeaders: [
          'ETag',
          'Link',
          'Location',
          'Retry-After',
          'X-Invalid-Input',
          'X-Request-Id',
          'X-Search-Index',
          'X-Stored',
          'X-Total-Count',
        ],
        maxAge: CACHE_TIME,
      })
    },
  })
}

/**
 * Whether the request comes from a page of another origin that is not allowed. A browser sends such a request although
 * the page may not read the answer. Programs other than browsers send neither of the two header fields.
 */
export function isFromForeignPage({ headers, host }: FastifyRequest, allowed: readonly string[]): boolean {
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined && isListed(allowed, origin)) return false
  // Browsers send Sec-Fetch-Site over HTTPS and to localhost. No page can change it, and no proxy does.
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin !== undefined && !isOriginOf(host, origin)
}

/** Compares without the scheme, because a proxy may have added TLS. No host has the origin `null`. */
function isOriginOf(host: string, origin: string): boolean {
  if (!URL.canParse(origin)) return false
  const { protocol, host: originHost } = new URL(origin)
  const own = `${protocol}//${host}`
  return URL.canParse(own) && new URL(own).host === originHost
}

function isListed(origins: readonly string[], origin: string): boolean {
  return origins.includes('*') || origins.includes(origin)
}
