type Type = 'object' | 'array' | 'string' | 'integer' | 'boolean' | 'null'

/** The part of JSON Schema (draft 7) that the service uses. */
export interface Schema {
  readonly $id?: string
  readonly type?: Type | readonly Type[]
  readonly description?: string
  readonly examples?: readonly unknown[]
  readonly required?: readonly string[]
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly [keyword: string]: unknown
}

/** The compiler compares its properties with the fields of the type. */
export interface ObjectSchema<Type> extends Schema {
  readonly type: 'object'
  readonly properties: Properties<Type>
}

type Properties<Type> = { readonly [Name in keyof Type]-?: Schema }

type Keywords = Pick<Schema, '$id' | 'description' | 'examples' | 'required'>

/** All fields are required, unless `keywords.required` lists only some. */
export function objectSchema<Type>(
  properties: Properties<Type>,
  keywords: Keywords = {},
): ObjectSchema<Type> {
  return { type: 'object', required: Object.keys(properties), properties, ...keywords }
}

/** No field is required. */
export function partialSchema<Type>(
  properties: Properties<Type>,
  keywords: Keywords = {},
): ObjectSchema<Partial<Type>> {
  return { type: 'object', properties, ...keywords }
}
