/** The three formats of errors; the HTTP layer decides which endpoint uses which. */
import type { Static } from 'typebox'
import { closed, optional } from '#schemas/parts/fields.ts'
import { Type } from '#schemas/parts/type.ts'
import { responseCode } from '#schemas/result.ts'

export const problemDetails = closed(
  {
    type: Type.String({ description: 'Address that stands for this kind of problem.' }),
    title: Type.String({ description: 'The kind of problem in words.' }),
    status: Type.Integer({ minimum: 400, maximum: 599, description: 'The HTTP status once more.' }),
    detail: optional(Type.String({ description: 'What happened this time.' })),
    instance: optional(Type.String({ description: 'The path it happened on.' })),
    traceId: Type.String({ pattern: '^[0-9a-f]{32}$', description: 'Names this call in our logs.' }),
    errors: optional(
      Type.Record(Type.String(), Type.Array(Type.String()), {
        description: 'Messages by the path of the field.',
      }),
    ),
    responseCode: optional(responseCode),
  },
  { title: 'ProblemDetails', description: 'A problem in the form of RFC 9457.' },
)
export type ProblemDetails = Static<typeof problemDetails>

export const fieldError = closed(
  {
    field: Type.String({ description: 'Path of the field, for example order.items[0].quantity.' }),
    error: Type.String({ description: 'What was given and what is allowed.' }),
  },
  { title: 'FieldError', description: 'One field that is missing or wrong.' },
)
export type FieldError = Static<typeof fieldError>

export const internalError = closed(
  { responseCode, responseDescription: Type.String({ description: 'The code in words.' }) },
  { title: 'InternalError', description: 'Something broke on our side.' },
)
export type InternalError = Static<typeof internalError>
