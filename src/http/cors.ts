import type { FastifyReply, FastifyRequest } from 'fastify'
import { addVary } from './content-negotiation.ts'

const ALLOWED = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
  'access-control-allow-headers': 'Authorization, Content-Type, If-Match, If-None-Match, X-Request-Id',
  // How long a browser may cache the preflight response, in seconds.
  'access-control-max-age': 600,
}

const EXPOSED =
  'ETag, Link, Location, Retry-After, X-Invalid-Input, X-Request-Id, X-Search-Index, X-Stored, X-Total-Count'

/**
 * Lets web pages of these origins call the service (fetch.spec.whatwg.org, §3.2).
 * @param origins `*` stands for all.
 * @returns whether the request is a preflight, to which these fields are the whole response.
 */
export function addCorsHeaders(
  { headers, method }: FastifyRequest,
  reply: FastifyReply,
  origins: readonly string[],
): boolean {
  addVary(reply, 'Origin')
  const { origin } = headers
  if (origin === undefined || !isListed(origins, origin)) return false
  reply.header('access-control-allow-origin', origins.includes('*') ? '*' : origin)
  reply.header('access-control-expose-headers', EXPOSED)
  if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return false
  reply.headers(ALLOWED)
  return true
}

/**
 * Whether the request comes from a web page whose origin is neither the service's own nor allowed. Browsers send such a
 * request although the page may not read the response. Other programs send neither Origin nor Sec-Fetch-Site.
 */
export function isFromForeignPage({ headers, host }: FastifyRequest, allowed: readonly string[]): boolean {
  const { origin, 'sec-fetch-site': site } = headers
  if (origin !== undefined && isListed(allowed, origin)) return false
  // Browsers send Sec-Fetch-Site over HTTPS and to localhost. Pages cannot change it, and proxies do not.
  if (site !== undefined) return site !== 'same-origin' && site !== 'none'
  return origin !== undefined && !isOriginOf(host, origin)
}

/** Ignores the scheme, because a proxy may have added TLS. The origin `null` matches no host. */
function isOriginOf(host: string, origin: string): boolean {
  if (!URL.canParse(origin)) return false
  const { protocol, host: originHost } = new URL(origin)
  const own = `${protocol}//${host}`
  return URL.canParse(own) && new URL(own).host === originHost
}

function isListed(origins: readonly string[], origin: string): boolean {
  return origins.includes('*') || origins.includes(origin)
}
