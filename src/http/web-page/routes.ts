import { hash } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ifNoneMatch } from '../conditional-requests.ts'
import { addVary, negotiateCoding } from '../content-negotiation.ts'
import { failure } from '../envelope.ts'
import { CODINGS, encode, readWebFiles, type Source, type WebFile } from './assets.ts'

/** A page of the service. */
export interface WebPage {
  readonly path: string
  /** What the paths of its other files begin with. */
  readonly prefix: string
  readonly source: Source
  /**
   * @param template of the page, with its root.
   * @param root what the addresses of the files begin with, in the page.
   * @param files their paths after the root.
   * @returns the page, and the directives of its Content-Security-Policy.
   */
  complete(
    template: string,
    root: string,
    files: readonly string[],
  ): { html: string; policy: readonly string[] }
}

/** Serves a page, which browsers ask for each time, and its files under paths that they may keep. */
export function servePage(app: FastifyInstance, page: WebPage): void {
  const { path, prefix, source, complete } = page

  async function read() {
    const { version, template, files } = await readWebFiles(source)
    // Relative to the page: a proxy may serve all of it under a path of its own.
    const root = `.${prefix}/${version}/`
    const { html, policy } = complete(template.replaceAll('{{root}}', root), root, [...files.keys()])
    const tag = `"${hash('sha256', html + policy.join(), 'base64url')}"`
    const fields = {
      'cache-control': 'no-cache',
      'content-security-policy': policy.join('; '),
      'referrer-policy': 'no-referrer',
      // Weak, because each coding has other bytes (RFC 9110 §8.8.3.3).
      etag: `W/${tag}`,
    }
    return { version, files, fields, tag, page: await encode('index.html', Buffer.from(html)) }
  }
  let reading: ReturnType<typeof read> | undefined
  // The files are read at the first request, for a quick start.
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
    if (!ifNoneMatch(request.headers, tag)) return reply.code(304).send()
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
