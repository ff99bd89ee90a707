/** `POST /payment-intents/{id}/confirm`: pays an intent from the app. */

import { isPseudoCardNumber } from '#domain/cards/card-numbers.ts'
import { isPseudoAccountNumber } from '#domain/cards/pseudo-accounts.ts'
import { parseIntentId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { exampleIds, exampleSuccess } from '#endpoints/payments/follow-up.ts'
import { readWallet } from '#endpoints/payments/instruments.ts'
import { payWithToken } from '#endpoints/payments/one-time-card.ts'
import { checkFit, composePayment, requireMethod } from '#endpoints/payments/payment-command.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { endpoint } from '#http/endpoint.ts'
import { InvalidField, NotFound } from '#http/server/ports.ts'
import type { Intent } from '#lifecycle/intent.ts'
import { deviceMembers } from '#methods/fields/objects.ts'
import { type Method, rows } from '#methods/rows.ts'
import { merchantNow } from '#operations/engine.ts'
import { confirmIntent, type IntentConfirmation, intentTransId } from '#operations/intents/confirm-intent.ts'
import { Type } from '#schemas/parts/type.ts'
import {
  type ConfirmIntent,
  confirmIntent as confirmIntentSchema,
  failedIntent,
  intentMembers,
  intentResult,
} from '#schemas/payment-intent.ts'

const intentPath = Type.Object({
  id: Type.String({ maxLength: 64, description: 'The id of the payment intent.' }),
})

/**
 * The methods' objects are at the top level here, beside the other fields. Unless they are listed by name, an unknown
 * field would be read as the object of some method, and the error would be about its content instead of the field
 * itself.
 */
const confirmBody = {
  ...confirmIntentSchema,
  propertyNames: {
    enum: [...Object.keys(confirmIntentSchema.properties), ...rows.map(({ key }) => key)],
  },
}

/** 64 KiB: four times the largest wallet payload, and read in a few milliseconds, because a customer's device may send it. */
const confirmBytesMax = 65_536

export const confirmIntentEndpoint = endpoint<Services, typeof confirmIntentSchema, typeof intentPath>({
  verb: 'POST',
  scope: 'payments',
  path: '/payment-intents/{id}/confirm',
  operationId: 'confirmPaymentIntent',
  summary: 'Confirm a payment intent',
  description:
    'Pays an intent with the given method: an ordinary payment with what the intent says. A decline answers 422 and ' +
    'leaves the intent open for another try, ten times at most. A payment that is approved, under way or of unknown outcome holds the ' +
    'intent: further confirmations are refused. A form of ours that the customer has left gives way to another type, or to ' +
    'DIRECT. The merchant gets a webhook about each result.',
  tag: 'Payment intents',
  version: '2.0.0',
  access: 'intent',
  idempotent: true,
  bodyBytesMax: confirmBytesMax,
  dialect: 'payment',
  params: intentPath,
  body: confirmBody,
  answers: { 200: intentResult, 422: failedIntent },
  examples: [
    {
      summary: 'By card',
      after: ['createPaymentIntent'],
      body: {
        integrationType: 'DIRECT',
        type: 'CARD',
        card: { number: '4111111111111111', expiryDate: '203012', securityCode: '123' },
      },
      status: 200,
      answer: {
        ...exampleIds,
        transId: 'app-order-1',
        xId: '019a3f6b2c4e7a1b8c2d3e4f5a6b7c8d',
        status: 'OK',
        ...exampleSuccess,
        paymentMethods: {
          card: { providerResponseCode: '00', providerTransactionId: 'sim0c1f3a5b7d9e2468ace0' },
        },
        paymentIntentId: 'pi_8c1f0e5b7a924d36b0c8e2f4a6d19375',
      },
    },
    {
      summary: "By the phone's wallet",
      after: ['createPaymentIntent'],
      body: {
        integrationType: 'DIRECT',
        type: 'PROVIDERM',
        providerM: {
          merchantIdentifierOfPublicKey: 'merchant.example.shop',
          token: '{"version":"EC_v1","data":"bG9yZW0gaXBzdW0="}',
        },
      },
      status: 200,
      answer: {
        ...exampleIds,
        transId: 'app-order-1',
        xId: '019a3f6b2c4f7b2c9d3e4f5a6b7c8d9e',
        status: 'OK',
        ...exampleSuccess,
        paymentIntentId: 'pi_8c1f0e5b7a924d36b0c8e2f4a6d19375',
      },
    },
  ],
  hiddenFromDevices: ['metadata'],
  async handle({ body: sent, params, merchant, key, intentId: onDevice, address }, { engine }) {
    const intentId = parseIntentId(params.id)
    if (!intentId) throw new NotFound()
    if (onDevice !== undefined) checkDevice(sent)
    const method = requireMethod('type', sent.type, merchant)
    return payWithToken(sent.card, 'card', { merchant, key, engine }, (card, onStored) => {
      const body = card ? { ...sent, card } : sent
      const now = merchantNow(engine.clock, merchant)
      const seenAddress = onDevice === undefined ? undefined : address
      const compose = (intent: Intent) => composeIntent(intent, { body, method, merchant, now, seenAddress })
      const checkInstrument =
        onDevice === undefined ? undefined : (intent: Intent) => checkStored(body, intent, engine)
      const confirmation = { merchant, intentId, compose, checkInstrument, key, onStored }
      return perform(confirmIntent(confirmation, engine)).catch(renameField)
    })
  },
})

/** A device may send what its customer knows, but nothing that the merchant decides. */
function checkDevice({ integrationType: _, type: __, browserInfo: ___, ...objects }: ConfirmIntent): void {
  for (const [key, object] of Object.entries(objects)) {
    const wrong = Object.keys(object ?? {}).find(name => !deviceMembers[key]?.includes(name))
    if (wrong === undefined) continue
    throw new InvalidField(
      `${key}.${wrong}`,
      "is the merchant's to say and is not taken under the access token of a payment intent",
    )
  }
}

/**
 * A pseudo number may only be used for payments of the customer whose card or account it is. Any other counts as a
 * declined try, so that numbers of other customers cannot be found by trying.
 */
async function checkStored(
  { card, directDebit }: ConfirmIntent,
  { merchantId, intentId, request }: Intent,
  { storedMethods, intents }: Services['engine'],
): Promise<void> {
  const [field, number] = card?.number
    ? ['card.number', card.number]
    : ['directDebit.account.number', directDebit?.account?.number ?? '']
  if (!isPseudoCardNumber(number) && !isPseudoAccountNumber(number)) return
  const customer = request.customerInfo?.merchantCustomerId
  if (customer && (await storedMethods.holdsPseudoNumber(merchantId, customer, number))) return
  await intents.countDecline(merchantId, intentId)
  throw new InvalidField(field, 'names nothing that the customer of this payment intent has stored')
}

interface Confirmed {
  readonly body: ConfirmIntent
  readonly method: Method
  readonly merchant: Merchant
  readonly now: Date
  /** The address of the device that sent the request; undefined for requests of the merchant's own server. */
  readonly seenAddress: string | undefined
}

/**
 * A device describes its browser, but may not name its IP address: limits on declines count addresses, and a card
 * tester would name another address each time, or somebody else's.
 */
function browserOf(
  { browserInfo: sent }: ConfirmIntent,
  { browserInfo: prepared }: Intent['request'],
  seenAddress: string | undefined,
): Pick<Intent['request'], 'browserInfo'> {
  const browserInfo = sent ?? prepared
  if (seenAddress !== undefined)
    return { browserInfo: { ...browserInfo, ipAddress: prepared?.ipAddress ?? seenAddress } }
  return browserInfo ? { browserInfo } : {}
}

/** The intent and its confirmation as the request that creates a payment, so that the same checks hold for both. */
function composeIntent(
  intent: Intent,
  { body, method, merchant, now, seenAddress }: Confirmed,
): ReturnType<IntentConfirmation['compose']> {
  const { request } = intent
  const { browserInfo: _, ...paymentMethods } = body
  const { providerM: wallet } = paymentMethods
  const { expirationTime, amount, ...rest } = request
  if (amount === undefined)
    throw new InvalidField('amount', 'is not known of this payment intent; create one that has an amount')
  checkAddresses(body, request)
  checkMembers(body, method)
  checkWallet(wallet)
  const browser = browserOf(body, request, seenAddress)
  const payment = { ...rest, ...browser, transId: intentTransId(intent), amount, paymentMethods }
  return ownFields(() => {
    checkFit(payment, method)
    const { command, card, account, offer } = composePayment(payment, method, { merchant, now })
    return {
      command: {
        ...command,
        // The payment expires with the intent.
        expiresAt: intent.expiresAt,
        details: { ...command.details, expirationTime },
        own: {
          ...command.own,
          paymentIntentId: intent.intentId,
          intentTerms: {
            expiresAt: intent.expiresAt.toISOString(),
            declines: intent.declines + (intent.refusedTries ?? 0),
            payments: (intent.payments ?? 0) + 1,
          },
        },
      },
      card,
      account,
      offer,
      wallet: readWallet(wallet),
    }
  })
}

/** A customer who is sent to a page needs an address to come back to. */
function checkAddresses({ integrationType }: ConfirmIntent, { urls }: Intent['request']): void {
  if (integrationType !== 'HOSTED') return
  const missing = (['return', 'cancel'] as const).find(name => urls?.[name] === undefined)
  if (missing === undefined) return
  const field = urls === undefined ? 'urls' : `urls.${missing}`
  throw new InvalidField(
    field,
    'is not known of this payment intent; HOSTED needs urls.return and urls.cancel',
  )
}

/** An object with required members is required itself. */
function checkMembers(body: ConfirmIntent, method: Method): void {
  const needed = intentMembers[method.key]?.needed ?? []
  if (body.integrationType === 'DIRECT' && needed.length > 0 && !Object.hasOwn(body, method.key))
    throw new InvalidField(method.key, `is required for ${method.type} and DIRECT`)
}

function checkWallet(wallet: ConfirmIntent['providerM']): void {
  if (wallet?.token === undefined || isObjectText(wallet.token)) return
  throw new InvalidField('providerM.token', 'must be JSON text of an object')
}

function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

/**
 * The confirmation has the method's fields at the top level; the checks that it shares with payments expect them one
 * level below.
 */
function ownFields<T>(check: () => T): T {
  try {
    return check()
  } catch (error) {
    return renameField(error)
  }
}

function renameField(error: unknown): never {
  if (!(error instanceof InvalidField)) throw error
  throw new InvalidField(error.field.replace(/^paymentMethods\./, ''), error.message)
}
