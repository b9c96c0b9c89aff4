import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import packageJson from '../../package.json' with { type: 'json' }
import { BookId } from '../catalogue/book.ts'
import { objectSchema } from '../catalogue/json-schema.ts'
import { PreconditionFields } from './routes/endpoint-schema.ts'

/** The page loads and calls only the service itself, and cannot be put into a frame. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const WEB = join(import.meta.dirname, '../../web')

/** Serves the OpenAPI document of all routes that are registered after it, and a page where a person can try them. */
export async function registerOpenApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Book Catalogue',
        version: packageJson.version,
        description:
          'Log in with `POST /token`, then send the token unchanged in the Authorization header. ' +
          'The page at /docs sends it for you after you have logged in there.',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      components: {
        securitySchemes: {
          token: {
            type: 'apiKey',
            in: 'header',
            name: 'Authorization',
            description: 'The token string itself, with no scheme prefix.',
          },
        },
      },
      security: [{ token: [] }],
    },
    refResolver: { buildLocalReference: ({ $id }, _baseUri, _fragment, i) => String($id ?? `schema-${i}`) },
    // The endpoint checks ids and preconditions (404, 412), not the route's schema (400). Here they are only described.
    transform: ({ schema: { describedOnly, ...schema }, url }) => ({
      schema: {
        ...schema,
        ...describedOnly,
        ...(url.endsWith('/:id') && { params: objectSchema({ id: BookId }), headers: PreconditionFields }),
      },
      url,
    }),
  })
  app.get('/openapi.json', { schema: { hide: true } }, () => app.swagger())
  const [colours, look, script] = await Promise.all(
    ['colours.css', 'docs/theme.css', 'docs/theme.js'].map((name) => readFile(join(WEB, name), 'utf8')),
  )
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: CONTENT_SECURITY_POLICY,
    theme: {
      title: 'Book Catalogue API',
      css: [{ filename: 'theme.css', content: `${colours}${look}` }],
      js: [{ filename: 'theme.js', content: `${script}` }],
    },
    uiConfig: {
      layout: 'BaseLayout',
      tryItOutEnabled: true,
      defaultModelsExpandDepth: 0,
      responseInterceptor: useTokenOfLogin,
    },
  })
}

/** Runs in the page. After a successful login, further calls have its token. */
function useTokenOfLogin<Response>(response: Response): Response {
  const { url, ok, obj } = response as { url: string; ok: boolean; obj?: { data: { token: string } } }
  if (ok && obj && new URL(url).pathname.endsWith('/token')) ui.preauthorizeApiKey('token', obj.data.token)
  return response
}

/** Swagger UI's handle, in the scope where the page runs the function above. */
declare const ui: { preauthorizeApiKey(scheme: string, key: string): void }
