/**
 * How the OpenAPI document describes `paymentMethods`: as a union by `type`, with one object for each shape and every
 * key by name, so that code generators produce types for all methods. Requests are checked against plain objects
 * instead (src/schemas), because a union that does not match cannot say which field is wrong.
 */

import { strict as assert } from 'node:assert'
import type { TProperties, TSchema } from 'typebox'
import { textAt } from '#domain/json.ts'
import { cardRecord } from '#methods/fields/card.ts'
import {
  captureObjects,
  confirmObjects,
  createObjects,
  directMembers,
  otherObject,
  otherRecordObject,
  recordObjects,
  refundObjects,
  reversalObjects,
} from '#methods/fields/objects.ts'
import { captureRefund, voucherRefund } from '#methods/fields/other-refunds.ts'
import { providerMWallet } from '#methods/fields/provider-m.ts'
import { rows } from '#methods/rows.ts'
import { demand, integratedBy, refuse } from '#schemas/create-payment.ts'
import { webhookEvent } from '#schemas/event-body.ts'
import { browserInfo } from '#schemas/parts/browser-info.ts'
import { choice, closed, optional, when } from '#schemas/parts/fields.ts'
import { integrationType } from '#schemas/parts/identifiers.ts'
import { Type } from '#schemas/parts/type.ts'
import { intentMembers } from '#schemas/payment-intent.ts'

/** Keys whose object has members of its own in some request or record; all the others share one shape. */
const shapedKeys = new Set(
  [captureObjects, confirmObjects, createObjects, recordObjects, refundObjects, reversalObjects].flatMap(
    objects => Object.keys(objects),
  ),
)
const shapedRows = rows.filter(row => shapedKeys.has(row.key))
const otherRows = rows.filter(row => !shapedKeys.has(row.key))
const vouchers = otherRows.filter(row => row.family === 'voucher')
const inParts = otherRows.filter(row => row.operations.includes('multi_capture'))
const plainRows = otherRows.filter(row => !vouchers.includes(row) && !inParts.includes(row))

const typeText = 'Type of the payment method; it decides which object may stand beside it.'

const paymentMethodType = choice(
  rows.map(row => row.type),
  'Type of the payment method, as listed in the catalogue.',
)
const otherType = {
  ...choice(
    otherRows.map(row => row.type),
    'Types of the methods that have no fields of their own.',
  ),
  title: 'OtherMethodType',
}

const titleOf = (key: string): string => `${key.slice(0, 1).toUpperCase()}${key.slice(1)}`

const objectsOf = (keys: readonly { readonly key: string }[], object: TSchema): TProperties =>
  Object.fromEntries(keys.map(({ key }) => [key, optional(object)]))

/** One optional object under each key; the reference folds such a list. */
const listKeys = (title: string, description: string, keys: typeof rows, object: TSchema) =>
  Type.Object(objectsOf(keys, object), { title, description, byMethod: true })

const emptyByKey = [
  listKeys(
    'PlainMethodObjects',
    'The object of a method without fields, by its key.',
    plainRows,
    otherObject,
  ),
  listKeys('VoucherObjects', 'The object of a voucher, by its key.', vouchers, otherObject),
  listKeys(
    'CapturedInPartsObjects',
    'The object of a method that takes several captures, by its key.',
    inParts,
    otherObject,
  ),
]
const refundByKey = [
  emptyByKey[0],
  listKeys(
    'VoucherRefunds',
    'The account that gets the money back, by the key of the voucher.',
    vouchers,
    voucherRefund,
  ),
  listKeys('CaptureRefunds', 'Which of several captures is refunded, by the key.', inParts, captureRefund),
]
/**
 * Under any other key of a record. Not listed by name: a validator that writes out every reference would need seconds
 * for hundreds of such objects. On hosted pages a card may be requested by the name of its network; the record then
 * shows the card.
 */
const otherRecord = { anyOf: [otherRecordObject, cardRecord] }

interface Shapes {
  readonly title: string
  readonly description: string
  /** The end of the names of the single shapes, such as CardPayment. */
  readonly suffix: string
  /** The properties that all shapes have besides `type`. */
  readonly shared: TProperties
  readonly objects: TProperties
  /** The schema under a key of its own that `objects` does not have. */
  readonly other: TSchema
  /** The schemas under the keys of all other methods: lists of them, or one schema for all. */
  readonly byKey: readonly unknown[] | object
  readonly members?: typeof directMembers
}

/** DIRECT requires some members that a hosted page would ask the customer for. */
const integrationRules = (key: string, { needed, pageOnly }: (typeof directMembers)[string]) => ({
  allOf: [
    when(integratedBy('DIRECT'), { properties: { [key]: demand(needed) } }),
    when(integratedBy('HOSTED'), { properties: { [key]: refuse(pageOnly) } }),
  ],
})

function unionByType({ title, description, suffix, shared, objects, other, byKey, members = {} }: Shapes) {
  const shaped = shapedRows.map(({ key, type, label }) => {
    const rules = members[key]
    return {
      type,
      schema: closed(
        {
          type: Type.Literal(type, { type: 'string', description: typeText }),
          ...shared,
          [key]: optional(objects[key] ?? other),
        },
        {
          title: `${titleOf(key)}${suffix}`,
          description: `By ${label}.`,
          ...(rules ? integrationRules(key, rules) : {}),
        },
      ),
    }
  })
  const rest = Type.Object(
    { type: otherType, ...shared },
    {
      title: `Other${suffix}`,
      description: 'By any other method.',
      ...(Array.isArray(byKey)
        ? { allOf: byKey, unevaluatedProperties: false }
        : { unevaluatedProperties: byKey }),
    },
  )
  const refer = (name: string) => `#/components/schemas/${name}`
  const mapping = [
    ...shapedRows.map(({ key, type }) => [type, refer(`${titleOf(key)}${suffix}`)]),
    ...otherRows.map(({ type }) => [type, refer(`Other${suffix}`)]),
  ]
  return {
    title,
    description,
    oneOf: [...shaped.map(({ schema }) => schema), rest],
    discriminator: { propertyName: 'type', mapping: Object.fromEntries(mapping) },
  }
}

/** Objects that follow a payment have no `type`: the payment has it. */
const followUp = (title: string, objects: TProperties, byKey: readonly unknown[] = emptyByKey) =>
  Type.Object(
    { ...objectsOf(shapedRows, otherObject), ...objects },
    {
      title,
      description: "One object named by the key of the payment's method.",
      allOf: byKey,
      unevaluatedProperties: false,
    },
  )

const requests: readonly object[] = [
  unionByType({
    title: 'CreatePaymentMethods',
    description: 'The method to pay with, and one object named by its key.',
    suffix: 'Payment',
    shared: { integrationType },
    objects: createObjects,
    other: otherObject,
    byKey: emptyByKey,
    members: directMembers,
  }),
  unionByType({
    title: 'ConfirmPaymentIntent',
    description: "The method to pay with, one object named by its key, and the customer's browser.",
    suffix: 'IntentPayment',
    shared: { integrationType, browserInfo: optional(browserInfo) },
    objects: { ...createObjects, providerM: optional(providerMWallet) },
    other: otherObject,
    byKey: emptyByKey,
    members: intentMembers,
  }),
  followUp('ConfirmPaymentMethods', confirmObjects),
  followUp('CapturePaymentMethods', captureObjects),
  followUp('ReversalPaymentMethods', reversalObjects),
  followUp('RefundPaymentMethods', refundObjects, refundByKey),
]

const answers: readonly object[] = [
  unionByType({
    title: 'RecordPaymentMethods',
    description: 'The method used, with masked data.',
    suffix: 'PaymentRecord',
    shared: { integrationType: optional(integrationType) },
    objects: recordObjects,
    other: otherRecordObject,
    byKey: otherRecord,
  }),
  { ...paymentMethodType, title: 'PaymentMethodType' },
  webhookEvent,
]

/** Schemas that replace those with the same title in the document. */
export const describedAs: ReadonlyMap<string, object> = new Map(
  [...requests, ...answers].map(schema => [
    textAt(schema, 'title') ?? assert.fail('a described schema has no title'),
    schema,
  ]),
)
