import type { FastifyInstance } from 'fastify'
import packageJson from '../../package.json' with { type: 'json' }

/** Where the document keeps its named parts. */
type Section = 'headers' | 'parameters' | 'responses' | 'schemas'

/** A part of the document with a name. The document has its content once, and refers to it wherever it is used. */
export class Component {
  readonly section: Section
  readonly name: string
  readonly content: object

  constructor(section: Section, name: string, content: object) {
    this.section = section
    this.name = name
    this.content = content
  }
}

declare module 'fastify' {
  interface FastifySchema {
    /** The route in the OpenAPI document, as an Operation Object that may have components. Others are not in it. */
    operation?: object
  }
}

/** A route that the document describes. */
interface Route {
  readonly path: string
  readonly method: string
  readonly operation: object
}

/** Serves the OpenAPI document of the routes that are registered after it. It is made at the first request. */
export function registerOpenApi(app: FastifyInstance): void {
  const routes: Route[] = []
  app.addHook('onRoute', ({ method, url, schema }) => {
    if (schema?.operation === undefined || method === 'HEAD') return
    const path = url.replace(/:(\w+)/g, '{$1}')
    routes.push({ path, method: String(method).toLowerCase(), operation: schema.operation })
  })
  let document: object | undefined
  app.get('/openapi.json', () => {
    document ??= describeRoutes(routes, app.getSchemas())
    return document
  })
}

/** @param schemas to which routes refer by their `$id`. */
function describeRoutes(routes: readonly Route[], schemas: object): object {
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
        // Fastify knows schemas by their `$id`.
        if (key === '$ref' && typeof value === 'string')
          return value.replace(/^(\w+)#$/, '#/components/schemas/$1')
        if (!(value instanceof Component)) return value
        components[value.section][value.name] ??= refer(value.content)
        return { $ref: `#/components/${value.section}/${value.name}` }
      }),
    )

  for (const { path, method, operation } of routes)
    paths[path] = { ...paths[path], [method]: refer(operation) }
  Object.assign(components.schemas, refer(schemas))
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
    // Relative to the document: a proxy may serve all of it under a path of its own.
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
