import type { FastifyInstance } from 'fastify'
import packageJson from '../../package.json' with { type: 'json' }

type Section = 'headers' | 'parameters' | 'responses' | 'schemas'

/** A named part of the document. Its content is written once, and referred to wherever it is used. */
export class Component {
  readonly section: Section
  readonly name: string
  readonly content: object
  /** It may take the place of a Schema. */
  readonly [keyword: string]: unknown

  constructor(section: Section, name: string, content: object) {
    this.section = section
    this.name = name
    this.content = content
  }
}

declare module 'fastify' {
  interface FastifySchema {
    /** The Operation Object, which may contain Components. Without one, the route is not in the document. */
    operation?: object
  }
}

type Route = readonly [path: string, method: string, operation: object]

/** Serves the OpenAPI document of the routes that are registered afterwards. It is made at the first request. */
export function registerOpenApi(app: FastifyInstance): void {
  const routes: Route[] = []
  app.addHook('onRoute', ({ method, url, schema }) => {
    if (schema?.operation === undefined || method === 'HEAD') return
    const path = url.replace(/:(\w+)/g, '{$1}')
    routes.push([path, String(method).toLowerCase(), schema.operation])
  })
  let document: object | undefined
  app.get('/openapi.json', () => {
    document ??= describeRoutes(routes)
    return document
  })
}

function describeRoutes(routes: readonly Route[]): object {
  const paths: Record<string, Record<string, object>> = {}
  const components: Record<Section, Record<string, object>> = {
    schemas: {},
    parameters: {},
    headers: {},
    responses: {},
  }
  const refer = (part: object): object =>
    JSON.parse(
      JSON.stringify(part, (key, value: unknown) => {
        if (key === '$id') return undefined
        if (!(value instanceof Component)) return value
        components[value.section][value.name] ??= refer(value.content)
        return { $ref: `#/components/${value.section}/${value.name}` }
      }),
    )

  for (const [path, method, operation] of routes) paths[path] = { ...paths[path], [method]: refer(operation) }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Book Catalogue',
      version: packageJson.version,
      description:
        'Log in with `POST /token`, then send the token unchanged in the Authorization header. ' +
        'The page at /docs sends it for you after you have logged in there.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // Relative to the document, because a proxy may serve all of it under a path.
    servers: [{ url: '.' }],
    tags: [
      { name: 'Login', description: 'How to get a token.' },
      { name: 'Books', description: 'The books, one by one or many at once.' },
      { name: 'Health', description: 'For supervisors and load balancers. No token is needed.' },
    ],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: {
        token: {
          type: 'apiKey',
          in: 'header',
          name: 'Authorization',
          description: 'The token string itself, with no scheme prefix.',
        },
      },
      ...components,
    },
  }
}
