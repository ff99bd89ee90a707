/**
 * The part of OpenAPI 3.1 that our documents use, as types, so that builder and reference page agree on it.
 */
export interface SchemaObject {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly title?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, SchemaObject>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | SchemaObject
  readonly patternProperties?: Readonly<Record<string, SchemaObject>>
  readonly items?: SchemaObject
  readonly anyOf?: readonly SchemaObject[]
  readonly oneOf?: readonly SchemaObject[]
  readonly allOf?: readonly SchemaObject[]
  readonly if?: SchemaObject
  readonly then?: SchemaObject
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly format?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly maxProperties?: number
  readonly examples?: readonly unknown[]
  readonly 'x-sensitive'?: boolean
  /** The members are the keys of payment methods and all have the same shape. */
  readonly 'x-by-method'?: boolean
}

export interface Reference {
  readonly $ref: string
}

export interface ParameterObject {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description?: string
  readonly schema: SchemaObject
}

export interface HeaderObject {
  readonly description: string
  readonly schema: SchemaObject
}

export interface MediaObject {
  readonly schema: SchemaObject
  readonly examples?: Readonly<Record<string, { readonly summary: string; readonly value: unknown }>>
}

export interface ResponseObject {
  readonly description: string
  readonly headers?: Readonly<Record<string, Reference>>
  readonly content?: Readonly<Record<string, MediaObject>>
}

/**
 * OpenAPI cannot say which answer belongs to which request; this extension pairs them by the examples' name.
 */
export interface ExamplePair {
  readonly name: string
  readonly summary: string
  readonly status: number
  /** The operation's path with its parameters replaced by values or by `{field}` of an earlier answer. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly after?: readonly string[]
}

export interface OperationObject {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly (ParameterObject | Reference)[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: Readonly<Record<string, MediaObject>>
  }
  readonly responses: Readonly<Record<string, ResponseObject | Reference>>
  readonly 'x-version': string
  readonly 'x-access': string
  readonly 'x-examples': readonly ExamplePair[]
}

export interface OpenApiDocument {
  readonly openapi: '3.1.0'
  readonly info: {
    readonly title: string
    readonly version: string
    readonly description: string
    readonly license: { readonly name: string; readonly identifier: string }
  }
  readonly servers: readonly { readonly url: string; readonly description: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationObject>>>>
  readonly webhooks?: Readonly<
    Record<string, { readonly post: Omit<OperationObject, 'x-version' | 'x-access' | 'x-examples'> }>
  >
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, Readonly<Record<string, string>>>>
    readonly schemas: Readonly<Record<string, SchemaObject>>
    readonly parameters: Readonly<Record<string, ParameterObject>>
    readonly headers: Readonly<Record<string, HeaderObject>>
    readonly responses: Readonly<Record<string, ResponseObject>>
  }
}
