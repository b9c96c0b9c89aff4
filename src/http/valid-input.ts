import type { FastifyRequest } from 'fastify'
import type { ObjectSchema, Schema } from '../catalogue/json-schema.ts'

/** A body breaks a rule of its schema. The message is that rule, and contains nothing that the client has sent. */
export class InvalidBody extends Error {
  readonly statusCode = 400
}

/**
 * @returns the fields of the body that are in the schema. Others are left out: a deeply nested one could not be sent to
 * another thread.
 * @throws InvalidBody
 */
export function validBody<Values>({ body }: FastifyRequest, schema: ObjectSchema<Values>): Values {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new InvalidBody('the body must be a JSON object')
  const sent = body as Readonly<Record<string, unknown>>
  const rule = brokenRule(sent, schema)
  if (rule !== undefined) throw new InvalidBody(rule)
  const values: Record<string, unknown> = {}
  for (const name of Object.keys(schema.properties)) values[name] = sent[name]
  return values as Values
}

/** @returns the first rule of the schema that the values break, such as `year is missing`; undefined if there is none. */
export function brokenRule(
  values: Readonly<Record<string, unknown>>,
  { properties, required = [] }: ObjectSchema<unknown>,
): string | undefined {
  const missing = required.find((name) => values[name] === undefined)
  if (missing !== undefined) return `${missing} is missing`
  for (const [name, rule] of Object.entries<Schema>(properties)) {
    const value = values[name]
    if (value !== undefined && !matches(value, rule)) return `${name} must be ${ruleInWords(rule, value)}`
  }
  return undefined
}

function matches(
  value: unknown,
  { type, pattern = '', minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY }: Schema,
): boolean {
  const valueType = value === null ? 'null' : Number.isInteger(value) ? 'integer' : typeof value
  if (valueType !== type && !(Array.isArray(type) && type.includes(valueType))) return false
  if (typeof value === 'number') return value >= minimum && value <= maximum
  return typeof value !== 'string' || compiled(pattern).test(value)
}

const patterns = new Map<string, RegExp>()

function compiled(pattern: string): RegExp {
  const known = patterns.get(pattern) ?? new RegExp(pattern, 'u')
  patterns.set(pattern, known)
  return known
}

function ruleInWords({ type, minimum, maximum, description = '' }: Schema, value: unknown): string {
  if (type === 'integer') return `an integer from ${minimum} to ${maximum}`
  if (type === 'boolean') return 'true or false'
  if (typeof value !== 'string') return 'a string'
  // The first sentence of a description puts the pattern into words.
  const [sentence = ''] = description.split(/\.(?= |$)/)
  return sentence.charAt(0).toLowerCase() + sentence.slice(1)
}
