/** The name of the API, and types for the part of OpenAPI 3.1 that our documents use. */

/** The name, version and tags of the API, shared by the served document, the checked-in one and the page. */
export const about = {
  title: 'Tollgate API',
  /** The version of the whole description; also sent as X-Api-Version. */
  version: '2.5.0',
  description:
    'Take payments, move them along, and see what became of them. One address, JSON both ways, and an answer that is ' +
    'true even when a line breaks in the middle.',
  tags: [
    {
      name: 'Authorization',
      description: 'Access tokens, for callers that do not want to send their API key each time.',
    },
    {
      name: 'Payments',
      description:
        'A payment is created once and keeps its `payId` for life. Each thing done to it afterwards is an operation ' +
        'with an `xId` of its own.',
    },
    { name: 'Payment intents', description: 'Payments prepared by a server and confirmed by an app.' },
    {
      name: 'Customers',
      description: 'People who pay more than once, and the payment methods they have stored.',
    },
    { name: 'Payment plans', description: 'Permission to charge again: recurring or unscheduled.' },
    { name: 'Services', description: 'Questions around a payment that move no money.' },
    { name: 'Events', description: 'What was sent to your webhook address, with every attempt.' },
    { name: 'Test', description: 'The levers of the test environment: clock, faults and catalogue.' },
  ],
} as const

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
  /** The member names are keys of payment methods, and all members have the same shape. */
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
 * OpenAPI cannot express which answer belongs to which request; this extension pairs them by the name of the example.
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
