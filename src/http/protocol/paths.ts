import { METHODS } from 'node:http'
import type { FastifyInstance, HTTPMethods } from 'fastify'
import { failure } from '../envelope.ts'

/** Escapes what the router would decode or cut off. It then takes the path as it was sent: `/book/%31` is not `/book/1`. */
export function literalPath(url: string): string {
  // The router would take the asterisk for the root. It is for OPTIONS (RFC 9112 §3.2.4).
  if (url === '*') return '/*'
  if (!/[%#]/.test(url)) return url
  const query = url.indexOf('?')
  const path = query === -1 ? url : url.slice(0, query)
  return path.replaceAll('%', '%25').replaceAll('#', '%23') + url.slice(path.length)
}

/** Answers 404 to every path without a route, before anything else of the request is looked at. */
export function refuseUnknownPaths(app: FastifyInstance): void {
  app.addHook('onRequest', (request, _reply, done) => {
    // The router takes /book/ for /book/:id with an empty id.
    const isUnknown = request.is404 || (request.params as { id?: string }).id === ''
    done(isUnknown ? failure.notFound : undefined)
  })
  app.setNotFoundHandler(() => {
    throw failure.notFound
  })
}

/**
 * Notes the paths of all routes that are registered from now on.
 * @returns a function that makes these paths answer 405 with Allow (RFC 9110 §15.5.6) to all other methods, without
 * reading a body.
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
