import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'

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

/** Serves the page where a person can try the endpoints of the OpenAPI document. */
export async function registerDocsPage(app: FastifyInstance): Promise<void> {
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
