/**
 * What the page shows of the OpenAPI document. Of JSON Schema, it knows what the document uses.
 *
 * @typedef {{ type?: string | string[], description?: string, examples?: unknown[], properties?: Record<string, Schema>,
 *   items?: Schema, required?: string[], anyOf?: Schema[], enum?: unknown[] }} Schema
 * @typedef {{ name: string, type: string, isRequired: boolean, description: string }} Field
 * @typedef {{ name: string, in: 'path' | 'query' | 'header', description: string, required?: boolean, schema: Schema }} Parameter
 * @typedef {{ type: string, example: string, isFile: boolean, fields: Field[], description: string }} Body
 * @typedef {[name: string, description: string]} Header
 * @typedef {{ status: string, description: string, headers: Header[], fields: Field[] }} Response
 * @typedef {{ id: string, method: string, path: string, summary: string, description: string, needsToken: boolean,
 *   parameters: Parameter[], bodies: Body[], headers: Header[], responses: Response[] }} Operation` has in `headers` what
 *   every response has
 * @typedef {{ title: string, version: string, description: string,
 *   groups: { name: string, description: string, operations: Operation[] }[] }} Api
 *
 * @typedef {{ schema: Schema & { format?: string }, example?: string }} MediaType
 * @typedef {{ operationId: string, tags: string[], summary: string, description: string, security?: unknown[],
 *   parameters: Parameter[], requestBody?: { content: Record<string, MediaType> },
 *   responses: Record<string, { description: string, headers: Record<string, { description: string }>,
 *     content?: Record<string, MediaType> }> }} OperationObject
 * @typedef {{ info: { title: string, version: string, description: string }, tags: { name: string, description: string }[],
 *   paths: Record<string, Record<string, OperationObject>>, components: Record<string, Record<string, object>> }} Document
 */

/** @param {Document} document @returns {Api} */
export function readDocument(document) {
  const { info, tags, paths } = withoutReferences(document, document)
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      tag: operation.tags[0],
      operation: read(method.toUpperCase(), path, operation),
    })),
  )
  const groups = tags.map(({ name, description }) => ({
    name,
    description,
    operations: all.filter(({ tag }) => tag === name).map(({ operation }) => operation),
  }))
  return { ...info, groups }
}

/**
 * Puts what a reference names in its place. The document has no circles.
 * @template T @param {T} part @param {Document} document @returns {T}
 */
function withoutReferences(part, document) {
  if (typeof part !== 'object' || part === null) return part
  if ('$ref' in part) {
    const [, , section = '', name = ''] = String(part.$ref).split('/')
    return withoutReferences(/** @type {T} */ (document.components[section]?.[name]), document)
  }
  if (Array.isArray(part)) return /** @type {T} */ (part.map((item) => withoutReferences(item, document)))
  const entries = Object.entries(part).map(([key, value]) => [key, withoutReferences(value, document)])
  return Object.fromEntries(entries)
}

/** @param {string} method @param {string} path @param {OperationObject} operation @returns {Operation} */
function read(method, path, { operationId, security, requestBody, responses, ...rest }) {
  const all = Object.entries(responses)
  const isCommon = (/** @type {string} */ name) => all.every(([, { headers }]) => name in headers)
  const headersOf = (/** @type {OperationObject['responses'][string]} */ { headers }) =>
    Object.entries(headers).map(([name, { description }]) => /** @type {Header} */ ([name, description]))
  return {
    ...rest,
    id: operationId,
    method,
    path,
    needsToken: security === undefined,
    bodies: Object.entries(requestBody?.content ?? {}).map(([type, { schema, example }]) => ({
      type,
      example: example ?? JSON.stringify(schema.examples?.[0], null, 2),
      isFile: schema.format === 'binary',
      fields: fieldsOf(schema),
      description: schema.description ?? '',
    })),
    headers: all
      .slice(0, 1)
      .flatMap(([, response]) => headersOf(response).filter(([name]) => isCommon(name))),
    responses: all.map(([status, response]) => ({
      status,
      description: response.description,
      headers: headersOf(response).filter(([name]) => !isCommon(name)),
      fields: Object.values(response.content ?? {}).flatMap(({ schema }) =>
        fieldsOf(schema.properties?.data ?? {}),
      ),
    })),
  }
}

/** The fields of an object, or of the objects in an array. @param {Schema} schema @returns {Field[]} */
function fieldsOf({ items, properties = {}, required = [] }) {
  if (items !== undefined) return fieldsOf(items)
  return Object.entries(properties).map(([name, field]) => ({
    name,
    type: typeOf(field),
    isRequired: required.includes(name),
    description: field.description ?? '',
  }))
}

/** @param {Schema} schema @returns {string} */
function typeOf({ type, items, anyOf }) {
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' or ')
  if (items !== undefined) return `array of ${typeOf(items)}`
  return [type].flat().join(' or ')
}
