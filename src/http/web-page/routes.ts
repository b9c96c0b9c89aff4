import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ifNoneMatch, notModified } from '../conditional-requests.ts'
import { addVary, negotiateCoding } from '../content-negotiation.ts'
import { failure } from '../envelope.ts'
import { CODINGS, encode, readWebFiles, type WebFile } from './assets.ts'
import { CATALOGUE, completePage, DOCS, type WebPage } from './pages.ts'

/** Serves the web page of the catalogue, and one to try the endpoints of the OpenAPI document. */
export function registerWebPages(app: FastifyInstance): void {
  servePage(app, CATALOGUE)
  servePage(app, DOCS)
  app.get('/docs/', (_request, reply) => reply.redirect('../docs', 308))
}

/** Serves a web page, which browsers revalidate each time, and its files under paths that they may cache for ever. */
function servePage(app: FastifyInstance, { path, prefix, source }: WebPage): void {
  async function read() {
    const { version, template, files } = await readWebFiles(source)
    // Relative to the web page, because a proxy may serve all of it under a path.
    const root = `.${prefix}/${version}/`
    const { html, policy } = completePage(template.replaceAll('{{root}}', root), root, [...files.keys()])
    const tag = `"${hash('sha256', html + policy.join(), 'base64url')}"`
    const fields = {
      'cache-control': 'no-cache',
      'content-security-policy': policy.join('; '),
      'referrer-policy': 'no-referrer',
      // Weak, because each coding has different bytes (RFC 9110 §8.8.3.3).
      etag: `W/${tag}`,
    }
    return { version, files, fields, tag, page: await encode('index.html', Buffer.from(html)) }
  }
  let reading: ReturnType<typeof read> | undefined
  // The files are read at the first request, so that the service starts quickly.
  const readOnce = () => {
    reading ??= read().catch((error: unknown) => {
      reading = undefined
      throw error
    })
    return reading
  }

  app.get(path, async (request, reply) => {
    const { page, fields, tag } = await readOnce()
    reply.headers(fields)
    addVary(reply, 'Accept-Encoding')
    if (!ifNoneMatch(request.headers, tag)) return notModified(reply)
    return sendFile(request, reply, page)
  })

  app.get<{ Params: { version: string; '*': string } }>(`${prefix}/:version/*`, async (request, reply) => {
    const { version, files } = await readOnce()
    const file = request.params.version === version ? files.get(request.params['*']) : undefined
    if (file === undefined) throw failure.notFound
    reply.header('cache-control', 'public, max-age=31536000, immutable')
    addVary(reply, 'Accept-Encoding')
    return sendFile(request, reply, file)
  })
}

function sendFile(request: FastifyRequest, reply: FastifyReply, { type, coded }: WebFile): FastifyReply {
  const coding = negotiateCoding(request, CODINGS)
  if (coding !== 'identity') reply.header('content-encoding', coding)
  reply.headers({
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
  })
  return reply.type(type).send(coded[coding])
}
