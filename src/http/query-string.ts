import type { FastifyRequest } from 'fastify'
import type { ObjectSchema, Schema } from '../catalogue/json-schema.ts'
import { quoted } from '../catalogue/quoted.ts'
import { type Failure, failure } from './envelope.ts'
import { brokenRule } from './invalid-input.ts'

/** @returns what comes after the first `?` of a request target, or an empty text if there is none. */
export function queryStringOf(target: string): string {
  const start = target.indexOf('?')
  return start === -1 ? '' : target.slice(start + 1)
}

/** The values of query parameters, by name. */
type QueryParameters = Record<string, string | number | boolean>

/**
 * Reads the query string of a request as forms write it: `+` is a space.
 * @param schema documents the parameters, and decides which values they may have.
 * @throws failure.invalidQueryParameter for a parameter that is unknown, given twice, malformed or against the schema.
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
  if (request.validateInput(parameters, schema)) return parameters as Values
  const [fault] = request.getValidationFunction(schema)?.errors ?? []
  throw invalid(fault ? brokenRule(fault) : 'one is not what it has to be')
}

/** @param reason names the parameter, and what it has to be. */
export const invalid = (reason: string): Failure => failure.invalidQueryParameter.because(reason)

/** @throws failure.invalidQueryParameter when there is no value. */
export function orInvalid<Value>(value: Value | undefined, reason: string): Value {
  if (value === undefined) throw invalid(reason)
  return value
}

/** @returns the value, or the text itself if it is not of the type. The schema refuses the text then. */
function convert(text: string, type: Schema['type']): string | number | boolean {
  if (type === 'integer' && /^(?:0|-?[1-9][0-9]*)$/.test(text)) return Number(text)
  if (type === 'boolean' && /^(?:true|false)$/.test(text)) return text === 'true'
  return text
}

/**
 * @param what the text is.
 * @throws failure.invalidQueryParameter if the text is not UTF-8 or has a NUL, which no book has (§2).
 */
function decode(text: string, what: string): string {
  try {
    const decoded = decodeURIComponent(text.replaceAll('+', ' '))
    if (!decoded.includes('\0')) return decoded
  } catch {
    // It is no UTF-8.
  }
  throw invalid(`${what} must be percent-encoded UTF-8 without NUL`)
}
