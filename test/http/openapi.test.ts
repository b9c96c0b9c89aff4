import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { type Envelope, failure, success } from '../../src/http/envelope.ts'
import { useServer } from './serve.ts'

interface Reference {
  $ref: string
}
interface Parameter {
  name: string
  in: string
  required?: boolean
  example?: unknown
  examples?: unknown
  schema: Schema
}
interface Operation {
  security?: unknown
  tags: string[]
  parameters: (Parameter | Reference)[]
  requestBody?: { content: Record<string, { schema: Schema | Reference }> }
  responses: Record<string, Response | Reference>
}
interface Response {
  headers: Record<string, Reference>
  content?: Record<string, { schema: Reference; examples?: Record<string, { value: Envelope<null> }> }>
}
interface Schema {
  required?: string[]
  pattern?: string
  properties?: Record<string, Schema & { const?: unknown }>
  example?: unknown
  examples?: unknown[]
  default?: unknown
}
interface Document {
  openapi: string
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  components: {
    securitySchemes: Record<string, object>
    schemas: Record<string, Schema>
    headers: Record<string, object>
    parameters: Record<string, Parameter>
    responses: Record<string, Response>
  }
}

let document: Document
const server = useServer({}, async ({ app }) => {
  document = (await app.inject('/openapi.json')).json()
})

describe('/openapi.json', () => {
  it('is a valid OpenAPI 3.1 document', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone({ ...document }))
    assert.ok(valid, JSON.stringify(errors))
    assert.match(document.openapi, /^3\.1\./)
  })

  it('describes the six endpoints of §4, the import, the statistics, the two for supervisors, and no others', () => {
    const names = operations().map(([name]) => name)
    assert.deepEqual(names.sort(), [
      'DELETE /book/{id}',
      'GET /book/{id}',
      'GET /books',
      'GET /books/statistics',
      'GET /healthz',
      'GET /readyz',
      'POST /book',
      'POST /books/import',
      'POST /token',
      'PUT /book/{id}',
    ])
  })

  it('has every status and message of the table, under its own status', () => {
    const documented = new Set<string>()
    for (const [, { responses }] of operations()) {
      for (const [status, response] of Object.entries(responses)) {
        const { schema, examples } = resolve(response).content?.['application/json'] ?? {}
        const values = examples
          ? Object.values(examples).map(({ value }) => value)
          : (schemaOf(schema).examples ?? [])
        for (const { status: inBody, message } of values as Envelope<unknown>[]) {
          assert.equal(inBody, Number(status))
          documented.add(`${status} ${message.replace(/: .*/, '')}`)
        }
      }
    }
    // What has no operation to be documented with: unknown paths and methods.
    const { notFound, methodNotAllowed, ...failures } = failure
    const expected = Object.values({ ...success, ...failures }).map(
      ({ status, message }) => `${status} ${message}`,
    )
    assert.deepEqual([...documented].sort(), expected.sort())
  })

  it('has the scheme of the raw token on all endpoints of books, and only there', () => {
    const { token } = document.components.securitySchemes
    assert.deepEqual(
      { ...token, description: undefined },
      { type: 'apiKey', in: 'header', name: 'Authorization', description: undefined },
    )
    const used = new Set<string>()
    for (const [name, { security, tags }] of operations()) {
      assert.deepEqual(security, tags.includes('Books') ? undefined : [], name)
      for (const tag of tags) used.add(tag)
    }
    assert.deepEqual(document.tags.map(({ name }) => name).sort(), [...used].sort())
  })

  it('names what it describes: every body of a request or a response, every failure and every header field', () => {
    for (const [name, { requestBody, responses }] of operations()) {
      const json = requestBody?.content['application/json']
      if (json) assert.ok('$ref' in json.schema, name)
      for (const [status, response] of Object.entries(responses)) {
        if (Number(status) >= 400) assert.ok('$ref' in response, `${name} ${status}`)
        const { headers, content } = resolve(response)
        for (const header of Object.values(headers)) assert.ok('$ref' in header, name)
        for (const { schema } of Object.values(content ?? {}))
          assert.ok('$ref' in schema, `${name} ${status}`)
      }
    }
    for (const [name, { examples }] of Object.entries(document.components.schemas)) {
      if (name !== 'Failure') assert.ok(examples?.length, name)
    }
  })

  it('has one media type for each response, because clients could not tell several apart', () => {
    for (const [name, { responses }] of operations()) {
      for (const response of Object.values(responses)) {
        assert.ok(Object.keys(resolve(response).content ?? {}).length <= 1, name)
      }
    }
  })

  it('has no example of a parameter that a page would send as it is: a search for it would find nothing', () => {
    for (const [name, { parameters }] of operations()) {
      for (const parameter of parameters.map(resolve)) {
        const { example, examples, schema } = parameter
        const values = [example, examples, schema.example, schema.default]
        if (parameter.in === 'query') values.push(schema.examples)
        assert.deepEqual(
          values.filter((value) => value !== undefined),
          [],
          `${name} ${parameter.name}`,
        )
      }
    }
  })

  it('has a pattern for texts that means the same with and without the `u` flag', () => {
    const pattern = document.components.schemas.NewBook?.properties?.title?.pattern ?? ''
    for (const [text, isText] of [
      ['', true],
      ['a\n\u{10FFFF}\u{1F4DA}\uFFFF', true],
      ['a\0', false],
      ['\uD83D', false],
      ['\uDE00\uD83D', false],
      ['\uD83D\uD83D\uDE00', false],
    ] as const) {
      for (const flags of ['', 'u'])
        assert.equal(new RegExp(pattern, flags).test(text), isText, JSON.stringify(text))
    }
  })

  it('says that a login has both fields, although a login without one is only wrong', () => {
    assert.deepEqual(document.components.schemas.Login?.required, ['username', 'password'])
  })

  it('describes the id as the canonical integer that it is, with an example', () => {
    const { schema, required } = document.components.parameters.id ?? {}
    assert.equal(required, true)
    assert.deepEqual(schema, { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, examples: [1] })
  })

  it('describes the header fields of each response, and a 503 for every endpoint except /healthz', () => {
    const all = operations().flatMap(([name, { responses }]) =>
      Object.entries(responses).map(([status, response]) => ({
        name: `${name} ${status}`,
        fields: Object.keys(resolve(response).headers),
      })),
    )
    const withStatus = (...statuses: string[]) =>
      all.map(({ name }) => name).filter((name) => statuses.some((status) => name.endsWith(` ${status}`)))
    assert.deepEqual(
      operations()
        .map(([name]) => `${name} 503`)
        .filter((name) => !withStatus('503').includes(name)),
      ['GET /healthz 503'],
    )
    for (const [field, expected] of Object.entries({
      'X-Request-Id': all.map(({ name }) => name),
      'WWW-Authenticate': withStatus('401'),
      'Retry-After': withStatus('429', '503'),
      'X-Stored': withStatus('503').filter((name) => !name.startsWith('GET ')),
      'X-Invalid-Input': ['POST /book 400', 'POST /token 400', 'PUT /book/{id} 400'],
      Location: ['POST /book 201'],
      Link: ['GET /books 200'],
      'X-Total-Count': ['GET /books 200'],
      'X-Search-Index': ['GET /books 200', 'GET /books/statistics 200'],
      ETag: ['GET /book/{id} 200', 'GET /book/{id} 304', 'POST /book 201', 'PUT /book/{id} 200'],
    }))
      assert.deepEqual(
        all
          .filter(({ fields }) => fields.includes(field))
          .map(({ name }) => name)
          .sort(),
        expected.toSorted(),
        field,
      )
  })

  it('has an example of an import whose counts add up', () => {
    for (const { added, skipped, faulty, rows } of exampleOf('ImportResult'))
      assert.deepEqual([added, skipped, faulty], [rows, 0, 0])
  })

  it('has the conditions of RFC 9110 §13.1 as headers that may be left out, where a request names a book', () => {
    for (const [name, { parameters, responses }] of operations()) {
      const fields = parameters.map(resolve).filter((parameter) => parameter.in === 'header')
      const namesBook = name.endsWith('/book/{id}')
      assert.deepEqual(
        fields.map((field) => field.name),
        namesBook ? ['If-Match', 'If-None-Match'] : [],
      )
      for (const { required } of fields) assert.notEqual(required, true)
      assert.equal(responses['412'] !== undefined, namesBook)
    }
  })

  function operations(): [name: string, Operation][] {
    return Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, Operation] => [
        `${method.toUpperCase()} ${path}`,
        operation,
      ]),
    )
  }

  /** A part of the document itself, or the component that it refers to. */
  function resolve<Part extends object>(part: Part | Reference): Part {
    if (!('$ref' in part)) return part
    const [, section = '', name = ''] = /^#\/components\/(\w+)\/([\w-]+)$/.exec(part.$ref) ?? []
    const found = (document.components as unknown as Record<string, Record<string, Part>>)[section]?.[name]
    assert.ok(found, part.$ref)
    return found
  }

  const exampleOf = (name: string) =>
    (document.components.schemas[name]?.examples ?? []) as Record<string, number>[]

  const schemaOf = (schema: Reference | undefined): Schema => (schema ? resolve<Schema>(schema) : {})
})

it('the page at /docs has a strict policy, and is also found with a slash at the end', async () => {
  const response = await fetch(`${server.url}/docs/`)
  assert.deepEqual([response.url, response.status], [`${server.url}/docs`, 200])
  assert.equal(response.headers.get('x-content-type-options'), 'nosniff')
  assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
  const policy = response.headers.get('content-security-policy') ?? ''
  assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/)
  assert.doesNotMatch(policy, /unsafe|\*|https?:/)
})
