import assert from 'node:assert/strict'
import { it } from 'node:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { type Envelope, failure, success } from '../../src/http/envelope.ts'
import { useServer } from './serve.ts'

/** What is parsed has no type, because its form is what is tested. */
type Parsed = ReturnType<typeof JSON.parse>

let document: Parsed
/** Every operation by its method and path, and every response by that and its status. */
let operations: [name: string, operation: Parsed][]
let responses: [name: string, response: Parsed][]
const server = useServer({}, async ({ app }) => {
  document = (await app.inject('/openapi.json')).json()
  operations = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
    Object.entries<Parsed>(methods).map(([method, operation]): [string, Parsed] => [
      `${method.toUpperCase()} ${path}`,
      operation,
    ]),
  )
  responses = operations.flatMap(([name, operation]) =>
    Object.entries<Parsed>(operation.responses).map(([status, response]): [string, Parsed] => [
      `${name} ${status}`,
      resolve(response),
    ]),
  )
})

/** A part of the document itself, or the component that it refers to. */
function resolve(part: Parsed): Parsed {
  if (!('$ref' in part)) return part
  const [, section = '', name = ''] = /^#\/components\/(\w+)\/([\w-]+)$/.exec(part.$ref) ?? []
  return document.components[section][name] ?? assert.fail(part.$ref)
}

it('/openapi.json is a valid OpenAPI 3.1 document of the six endpoints of §4, the import, the statistics, and the two for supervisors', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone({ ...document }))
  assert.ok(valid, JSON.stringify(errors))
  assert.match(document.openapi, /^3\.1\./)
  // It would change what the references in its schema lead to.
  assert.doesNotMatch(JSON.stringify(document), /"\$id"/)
  assert.deepEqual(operations.map(([name]) => name).sort(), [
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

it('it has every status and message of the table, under its own status', () => {
  const documented = new Set<string>()
  for (const [name, { content }] of responses) {
    const { schema, examples } = content?.['application/json'] ?? {}
    const values = examples
      ? Object.values<{ value: Envelope<null> }>(examples).map(({ value }) => value)
      : ((schema && resolve(schema).examples) ?? [])
    for (const { status, message } of values) {
      assert.ok(name.endsWith(` ${status}`), name)
      documented.add(`${status} ${message.replace(/: .*/, '')}`)
    }
  }
  // What has no operation to be documented with: unknown paths and methods.
  const { notFound, methodNotAllowed, ...failures } = failure
  const expected = Object.values({ ...success, ...failures })
  assert.deepEqual(
    [...documented].sort(),
    expected.map(({ status, message }) => `${status} ${message}`).sort(),
  )
})

it('it has the scheme of the raw token on all endpoints of books, and the conditions of RFC 9110 §13.1 where a request names a book', () => {
  assert.partialDeepStrictEqual(document.components.securitySchemes, {
    token: { type: 'apiKey', in: 'header', name: 'Authorization' },
  })
  for (const [name, { security, tags, parameters, responses }] of operations) {
    assert.deepEqual(security, tags.includes('Books') ? undefined : [], name)
    const fields = parameters.map(resolve).filter((parameter: Parsed) => parameter.in === 'header')
    const namesBook = name.endsWith('/book/{id}')
    assert.deepEqual(
      fields.map((field: Parsed) => [field.name, field.required]),
      namesBook
        ? [
            ['If-Match', false],
            ['If-None-Match', false],
          ]
        : [],
    )
    assert.equal('412' in responses, namesBook)
  }
})

it('it requires and names every body, names every header field, and has one media type for each response, because clients could not tell several apart', () => {
  for (const [name, { requestBody }] of operations) {
    if (requestBody) assert.equal(requestBody.required, true, name)
    const json = requestBody?.content['application/json']
    assert.ok(json === undefined || '$ref' in json.schema, name)
  }
  for (const [name, { headers, content = {} }] of responses) {
    const schemas = Object.values<Parsed>(content).map(({ schema }) => schema)
    for (const part of [...Object.values<Parsed>(headers), ...schemas]) assert.ok('$ref' in part, name)
    assert.ok(schemas.length <= 1, name)
  }
  for (const [name, { examples }] of Object.entries<Parsed>(document.components.schemas))
    if (name !== 'Failure') assert.ok(examples?.length, name)
})

it('it has the header fields of each response, a 503 for every endpoint except /healthz, and a 413 for each with a body', () => {
  const all = responses.map(([name]) => name)
  const ending = (...ends: string[]) => all.filter((name) => ends.some((end) => name.endsWith(end)))
  const without503 = operations.map(([name]) => `${name} 503`).filter((name) => !all.includes(name))
  assert.deepEqual(without503, ['GET /healthz 503'])
  const withBody = operations.flatMap(([name, { requestBody }]) => (requestBody ? [`${name} 413`] : []))
  assert.deepEqual(ending(' 413'), withBody)
  for (const [field, expected] of Object.entries({
    'X-Request-Id': all,
    'WWW-Authenticate': ending(' 401'),
    'Retry-After': ending(' 429', ' 503'),
    'X-Stored': ending(' 503').filter((name) => !name.startsWith('GET ')),
    'X-Invalid-Input': ['POST /book 400', 'POST /token 400', 'PUT /book/{id} 400'],
    Location: ['POST /book 201'],
    Link: ['GET /books 200'],
    'X-Total-Count': ['GET /books 200'],
    'X-Search-Index': ['GET /books 200', 'GET /books/statistics 200'],
    ETag: ['GET /book/{id} 200', 'GET /book/{id} 304', 'POST /book 201', 'PUT /book/{id} 200'],
  })) {
    const found = responses.filter(([, { headers }]) => field in headers)
    assert.deepEqual(found.map(([name]) => name).sort(), expected.toSorted(), field)
  }
})

it('it has the bounds of every integer, except the highest count, and those of decades', () => {
  const bounds = new Set<string>()
  JSON.stringify(document, (_name, part: Parsed) => {
    if (part?.type === 'integer' && !('const' in part)) bounds.add(`${part.minimum}..${part.maximum}`)
    return part
  })
  const years = '-9007199254740991..9007199254740991'
  const [ids, limits, statuses] = ['1..9007199254740991', '1..1000', '400..599']
  const expected = [years, ids, limits, statuses, '0..undefined', '1..undefined', 'undefined..undefined']
  assert.deepEqual([...bounds].sort(), expected.sort())
})

// Its policy is that of the catalogue: test/web/serving.test.ts.
it('the page at /docs is also found with a slash at the end, and it and the endpoints under a path of a proxy', async () => {
  const response = await fetch(`${server.url}/docs/`)
  assert.deepEqual([response.url, response.status], [`${server.url}/docs`, 200])
  // Relative, because a proxy may serve all of this under a path.
  assert.equal((await server.app.inject('/docs/')).headers.location, '../docs')
  assert.deepEqual(document.servers, [{ url: '.' }])
})
