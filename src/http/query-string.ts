import type { FastifyRequest } from 'fastify'
import type { ObjectSchema, Schema } from '../catalogue/json-schema.ts'
import { quoted } from '../catalogue/quoted.ts'
import { type Failure, failure } from './envelope.ts'
import { brokenRule } from './valid-input.ts'

/** @returns what follows the first `?` of a request target, or an empty text. */
export function queryStringOf(target: string): string {
  const start = target.indexOf('?')
  return start === -1 ? '' : target.slice(start + 1)
}

type QueryParameters = Record<string, string | number | boolean>

/**
 * Reads the query string of a request. As in forms, `+` is a space.
 * @param schema documents the parameters, and defines their valid values.
 * @throws failure.invalidQueryParameter if a parameter is unknown, repeated, malformed or invalid by the schema.
 */
export function readQueryParameters<Values>(request: FastifyRequest, schema: ObjectSchema<Values>): Values {
  const known: Readonly<Record<string, Schema>> = schema.properties
  const parameters: QueryParameters = {}
  const queryString = queryStringOf(request.originalUrl)
  for (const part of queryString === '' ? [] : queryString.split('&')) {
    const [, encoded = '', value = ''] = orInvalid(
      /^([^=]*)=(.*)$/.exec(part) ?? undefined,
      'one is not written as name=value',
    )
    const name = decode(encoded, 'the name of one')
    if (!Object.hasOwn(known, name))
      throw invalid(`there is no ${quoted(name)}; there are ${Object.keys(known).join(', ')}`)
    if (Object.hasOwn(parameters, name)) throw invalid(`${name} is given twice`)
    parameters[name] = convert(decode(value, name), known[name]?.type)
  }
  const rule = brokenRule(parameters, schema)
  if (rule !== undefined) throw invalid(rule)
  return parameters as Values
}

/** @param reason names the parameter, and what it must be. */
export const invalid = (reason: string): Failure => failure.invalidQueryParameter.because(reason)

/** @throws failure.invalidQueryParameter if there is no value. */
export function orInvalid<Value>(value: Value | undefined, reason: string): Value {
  if (value === undefined) throw invalid(reason)
  return value
}

/** @returns the text itself if it is not of the type. The schema then refuses it. */
function convert(text: string, type: Schema['type']): string | number | boolean {
  if (type === 'integer' && /^(?:0|-?[1-9][0-9]*)$/.test(text)) return Number(text)
  if (type === 'boolean' && /^(?:true|false)$/.test(text)) return text === 'true'
  return text
}

/**
 * @param what names the text in the message.
 * @throws failure.invalidQueryParameter if the text is not UTF-8, or contains NUL, which no book does (§2).
 */
function decode(text: string, what: string): string {
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '))
    if (!decoded.includes('\0')) return decoded
  } catch {
    // Not UTF-8.
  }
  throw invalid(`${what} must be percent-encoded UTF-8 without NUL`)
}
