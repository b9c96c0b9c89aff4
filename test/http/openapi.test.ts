import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { type Envelope, failure, success } from '../../src/http/envelope.ts'
import { useService } from '../support/use-service.ts'

interface Operation {
  security?: unknown
  summary?: string
  parameters?: { name: string; in: string; required?: boolean; schema: object }[]
  requestBody?: { content: { 'application/json': { schema: { $ref?: string } } } }
  responses: Record<string, { headers?: Record<string, unknown>; content?: { 'application/json': Media } }>
}
interface Media {
  schema: { properties: Properties }
  example?: Envelope<unknown>
  examples?: Record<string, { value: Envelope<unknown> }>
}
interface Properties {
  status: { enum: number[] }
  message: { enum: string[] }
  data: { $ref?: string }
}
interface Document {
  openapi: string
  paths: Record<string, Record<string, Operation>>
  components: { securitySchemes: Record<string, object>; schemas: Record<string, { examples?: unknown[] }> }
}

describe('/openapi.json', () => {
  let document: Document
  useService(async ({ url }) => {
    document = (await (await fetch(`${url}/openapi.json`)).json()) as Document
  })

  it('is a valid OpenAPI 3.1 document', async () => {
    const { valid, errors } = await new Validator().validate({ ...document })
    assert.ok(valid, JSON.stringify(errors))
    assert.match(document.openapi, /^3\.1\./)
  })

  it('describes the six endpoints of §4, the import, the statistics, and no others', () => {
    const endpoints = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
    )
    assert.deepEqual(endpoints.sort(), [
      'DELETE /book/{id}',
      'GET /book/{id}',
      'GET /books',
      'GET /books/statistics',
      'POST /book',
      'POST /books/import',
      'POST /token',
      'PUT /book/{id}',
    ])
  })

  it('has every status and message of the table, under its own status', () => {
    const documented = new Set<string>()
    for (const [status, { schema }] of envelopes()) {
      const { properties } = schema
      assert.deepEqual(properties.status.enum, [Number(status)])
      for (const message of properties.message.enum) documented.add(`${status} ${message}`)
    }
    // What has no operation to be documented with: unknown paths and methods, and what supervisors ask.
    const { notFound, methodNotAllowed, ...failures } = failure
    const { alive, ready, ...successes } = success
    const expected = Object.values({ ...successes, ...failures }).map(
      ({ status, message }) => `${status} ${message}`,
    )
    assert.deepEqual([...documented].sort(), expected.sort())
  })

  it('has the scheme of the raw token on all endpoints but POST /token', () => {
    const { token } = document.components.securitySchemes
    assert.deepEqual(
      { ...token, description: undefined },
      {
        type: 'apiKey',
        in: 'header',
        name: 'Authorization',
        description: undefined,
      },
    )
    assert.deepEqual(document.paths['/token']?.post?.security, [])
    assert.deepEqual(operations().filter(({ security }) => security !== undefined).length, 1)
  })

  it('names its schemas and gives an example of each', () => {
    const { schemas } = document.components
    assert.deepEqual(Object.keys(schemas).sort(), [
      'Book',
      'BookChanges',
      'BookStatistics',
      'ImportResult',
      'Login',
      'NewBook',
      'Token',
    ])
    for (const [name, { examples }] of Object.entries(schemas)) assert.equal(examples?.length, 1, name)
  })

  it('refers to them and gives an example of every answer', () => {
    const create = document.paths['/book']?.post
    assert.deepEqual(create?.requestBody?.content['application/json'].schema, {
      $ref: '#/components/schemas/NewBook',
    })
    const created = create?.responses['201']?.content?.['application/json']
    assert.deepEqual(created?.schema.properties.data, { $ref: '#/components/schemas/Book' })
    for (const [status, { schema, example, examples }] of envelopes()) {
      const all = example === undefined ? Object.values(examples ?? {}).map(({ value }) => value) : [example]
      assert.deepEqual(
        all.map(({ message }) => message),
        schema.properties.message.enum,
      )
      for (const { status: inBody } of all) assert.equal(inBody, Number(status))
    }
  })

  it('describes the id as the canonical integer that it is', () => {
    const [id] = document.paths['/book/{id}']?.get?.parameters ?? []
    assert.equal(id?.name, 'id')
    assert.deepEqual(id?.schema, { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER })
  })

  it('says that every 401, and nothing else, has a challenge', () => {
    for (const { responses } of operations()) {
      for (const [status, { headers }] of Object.entries(responses)) {
        assert.equal(headers?.['WWW-Authenticate'] !== undefined, status === '401')
      }
    }
  })

  it('says which answers have an entity tag, and that one has nothing else', () => {
    const tagged = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.entries(operations).flatMap(([method, { responses }]) =>
        Object.entries(responses)
          .filter(([, { headers }]) => headers?.ETag !== undefined)
          .map(([status, { content }]) => `${method} ${path} ${status}${content ? '' : ' empty'}`),
      ),
    )
    assert.deepEqual(tagged.sort(), [
      'get /book/{id} 200',
      'get /book/{id} 304 empty',
      'post /book 201',
      'put /book/{id} 200',
    ])
    const empty = operations().flatMap(({ responses }) =>
      Object.keys(responses).filter((status) => responses[status]?.content === undefined),
    )
    assert.deepEqual(empty, ['304'])
  })

  it('has the conditions of RFC 9110 §13.1 as headers that may be left out, where a request names a book', () => {
    for (const [path, operations] of Object.entries(document.paths)) {
      for (const { parameters = [], responses } of Object.values(operations)) {
        const fields = parameters.filter((parameter) => parameter.in === 'header')
        assert.deepEqual(
          fields.map(({ name }) => name),
          path === '/book/{id}' ? ['If-Match', 'If-None-Match'] : [],
        )
        for (const { required } of fields) assert.notEqual(required, true)
        assert.equal(responses['412'] !== undefined, path === '/book/{id}')
      }
    }
  })

  function operations(): Operation[] {
    return Object.values(document.paths).flatMap((path) => Object.values(path))
  }

  /** Every answer that has a body, by its status. */
  function envelopes(): [status: string, Media][] {
    return operations().flatMap(({ responses }) =>
      Object.entries(responses).flatMap(([status, { content }]): [string, Media][] =>
        content === undefined ? [] : [[status, content['application/json']]],
      ),
    )
  }
})
