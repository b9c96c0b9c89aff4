/**
 * The OpenAPI document, as far as the page shows it. Of JSON Schema, it knows what the document uses.
 *
 * @typedef {{ type?: string | string[], format?: string, description?: string, examples?: unknown[],
 *   properties?: Record<string, Schema>, items?: Schema, required?: string[], anyOf?: Schema[] }} Schema
 * @typedef {{ name: string, in: 'path' | 'query' | 'header', description: string, required?: boolean, schema: Schema }} Parameter
 * @typedef {{ schema: Schema, example?: string }} MediaType
 * @typedef {Record<string, { description: string }>} Headers
 * @typedef {{ operationId: string, tags: string[], summary: string, description: string, security?: unknown[],
 *   parameters: Parameter[], requestBody?: { content: Record<string, MediaType> },
 *   responses: Record<string, { description: string, headers: Headers, content?: Record<string, MediaType> }> }} OperationObject
 * @typedef {OperationObject & { method: string, path: string }} Operation
 * @typedef {{ info: { title: string, version: string, description: string }, tags: { name: string, description: string }[],
 *   paths: Record<string, Record<string, OperationObject>>, components: Record<string, Record<string, object>> }} Document
 */

/** @param {Document} document */
export function readDocument(document) {
  const { info, tags, paths } = withoutReferences(document, document)
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      path,
    })),
  )
  return { info, tags, operations }
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

/** Whether the call needs a token. @param {OperationObject} operation */
export const needsToken = ({ security }) => security === undefined

/** @param {MediaType | undefined} body */
export const exampleOf = (body) => body?.example ?? JSON.stringify(body?.schema.examples?.[0], null, 2) ?? ''

/** @param {Schema} schema @returns {string} */
export function typeOf({ type, items, anyOf }) {
  if (anyOf !== undefined) return anyOf.map(typeOf).join(' or ')
  if (items !== undefined) return `array of ${typeOf(items)}`
  return [type].flat().join(' or ')
}
