import { METHODS } from 'node:http'
import type { FastifyInstance, HTTPMethods } from 'fastify'
import { failure } from '../envelope.ts'

/** Escapes what the router would decode or cut off, so that it takes the path as it was sent: `/book/%31` is not `/book/1`. */
export function literalPath(url: string): string {
  // The router takes the asterisk, which is for OPTIONS (RFC 9112 §3.2.4), for the root.
  if (url === '*') return '/*'
  if (!/[%#]/.test(url)) return url
  const query = url.indexOf('?')
  const path = query === -1 ? url : url.slice(0, query)
  return path.replaceAll('%', '%25').replaceAll('#', '%23') + url.slice(path.length)
}

/**
 * Notes the path of every route from now on; calling the result makes all methods that a path has no route for
 * answer 405 with Allow (RFC 9110 §15.5.6), without reading a body.
 */
export function collectPaths(app: FastifyInstance): () => void {
  const paths = new Set<string>()
  app.addHook('onRoute', ({ url }) => {
    paths.add(url)
  })
  // CONNECT never reaches the router.
  const methods = METHODS.filter((method) => method !== 'CONNECT')
  for (const method of methods) {
    const hasBody = ['POST', 'PUT', 'PATCH'].includes(method)
    app.addHttpMethod(method, { hasBody, overrideExisting: true })
  }
  return () => {
    for (const url of [...paths]) {
      const allowed = methods.filter((method) => app.hasRoute({ url, method: method as HTTPMethods }))
      app.route({
        url,
        method: methods.filter((method) => !allowed.includes(method)),
        schema: { hide: true },
        onRequest: (_request, reply, done) => {
          reply.header('allow', allowed.join(', '))
          done(failure.methodNotAllowed)
        },
        handler: () => {
          throw failure.methodNotAllowed
        },
      })
    }
  }
}
