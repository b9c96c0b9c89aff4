type Type = 'object' | 'array' | 'string' | 'integer' | 'boolean' | 'null'

/** The part of JSON Schema (draft 7) that the service uses. */
export interface Schema {
  readonly $id?: string
  readonly type?: Type | readonly Type[]
  readonly description?: string
  readonly examples?: readonly unknown[]
  readonly required?: readonly string[]
  readonly [keyword: string]: unknown
}

/** The schema of an object with each field of the type. */
export interface ObjectSchema<Type> extends Schema {
  readonly type: 'object'
  readonly properties: Properties<Type>
}

type Properties<Type> = { readonly [Name in keyof Type]-?: Schema }

/** The other keywords of a schema. */
type Keywords = Pick<Schema, '$id' | 'description' | 'examples' | 'required'>

/** The schema of an object that has all of the fields, or those that are required. */
export function objectSchema<Type>(
  properties: Properties<Type>,
  keywords: Keywords = {},
): ObjectSchema<Type> {
  return { type: 'object', required: Object.keys(properties), properties, ...keywords }
}

/** The schema of an object that may lack any of the fields. */
export function partialSchema<Type>(
  properties: Properties<Type>,
  keywords: Keywords = {},
): ObjectSchema<Partial<Type>> {
  return { type: 'object', properties, ...keywords }
}
