import type { FastifyError, ValidationResult } from 'fastify'
import type { Schema } from '../catalogue/json-schema.ts'

/**
 * Why a body was refused, for the field X-Invalid-Input. It is ASCII and contains nothing that the client has sent,
 * which may be a password or not fit for a header.
 */
export function reasonOf({ validation, code }: FastifyError): string {
  const [fault] = validation ?? []
  if (fault !== undefined) return brokenRule(fault)
  if (code === 'FST_ERR_CTP_INVALID_JSON_BODY')
    return 'the body is not JSON in UTF-8, or has more values than a book'
  return 'the body did not arrive as announced'
}

/** Names the field that breaks a rule of its schema, and the rule. Ajv must add the schema (`verbose`). */
export function brokenRule(fault: ValidationResult & { readonly parentSchema?: Schema }): string {
  const { instancePath, keyword, params, parentSchema = {} } = fault
  if (keyword === 'required') return `${params.missingProperty} is missing`
  const name = instancePath.slice(1)
  return name === '' ? 'the body must be a JSON object' : `${name} must be ${ruleOf(parentSchema, keyword)}`
}

function ruleOf({ type, minimum, maximum, description = '' }: Schema, keyword: string): string {
  if (type === 'integer') return `an integer from ${minimum} to ${maximum}`
  if (type === 'boolean') return 'true or false'
  if (keyword === 'type') return 'a string'
  // The first sentence of a description puts the pattern into words.
  const [sentence = ''] = description.split(/\.(?= |$)/)
  return sentence.charAt(0).toLowerCase() + sentence.slice(1)
}
