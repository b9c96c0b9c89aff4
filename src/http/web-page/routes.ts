import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ifNoneMatch } from '../conditional-requests.ts'
import { negotiate } from '../content-negotiation.ts'
import { failure } from '../envelope.ts'
import { CODINGS, readWebFiles, type WebFile, type WebFiles } from './assets.ts'

/** The page loads and calls only the service itself, and cannot be put into a frame. */
const policy = (importMapDigest: string) =>
  [
    "default-src 'none'",
    `script-src 'self' 'sha256-${importMapDigest}'`,
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    // The library makes HTML only from templates, which are constants in the code, never from the texts of books.
    'trusted-types lit-html',
  ].join('; ')

/** Serves the web page at `/`, which browsers ask for each time, and its files under paths that they may keep. */
export function registerWebPage(app: FastifyInstance): void {
  let reading: Promise<WebFiles> | undefined
  // The files are read at the first request, for a quick start.
  const read = () => {
    reading ??= readWebFiles().catch((error: unknown) => {
      reading = undefined
      throw error
    })
    return reading
  }
  app.get('/', async (request, reply) => {
    const { page, version, importMapDigest } = await read()
    const tag = `"${version}"`
    reply.headers({
      'cache-control': 'no-cache',
      'content-security-policy': policy(importMapDigest),
      'referrer-policy': 'no-referrer',
      etag: tag,
    })
    if (!ifNoneMatch(request.headers, tag)) return reply.header('vary', 'Accept-Encoding').code(304).send()
    return sendFile(request, reply, page)
  })

  app.get<{ Params: { version: string; '*': string } }>('/web/:version/*', async (request, reply) => {
    const { version, files } = await read()
    const file = request.params.version === version ? files.get(request.params['*']) : undefined
    if (file === undefined) throw failure.notFound
    reply.header('cache-control', 'public, max-age=31536000, immutable')
    return sendFile(request, reply, file)
  })
}

function sendFile(request: FastifyRequest, reply: FastifyReply, { type, coded }: WebFile): FastifyReply {
  const accepted = request.headers['accept-encoding']
  const coding = negotiate(typeof accepted === 'string' ? accepted : undefined, CODINGS)
  if (coding !== 'identity') reply.header('content-encoding', coding)
  const vary = reply.getHeader('vary')
  reply.headers({
    vary: vary === undefined ? 'Accept-Encoding' : `${vary}, Accept-Encoding`,
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
  })
  return reply.type(type).send(coded[coding])
}
