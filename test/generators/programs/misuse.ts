/** What must not compile with the types that openapi-typescript makes: a mistake below each "must fail" comment. */
import type { components } from '../dist/schema.d.ts'

type Methods = components['schemas']['CreatePayment']['paymentMethods']
type Event = components['schemas']['WebhookEvent']
declare const event: Event
declare const record: components['schemas']['PaymentRecord']
declare function accept(methods: Methods): void
declare function confirm(body: components['schemas']['ConfirmPaymentIntent']): void

// must fail: a misspelt key
accept({ integrationType: 'DIRECT', type: 'CARD', crad: { number: '4111111111111111' } })

// must fail: a misspelt key where the body is that of an intent
confirm({ integrationType: 'DIRECT', type: 'CARD', crad: { number: '4111111111111111' } })

// must fail: a misspelt type
accept({ integrationType: 'DIRECT', type: 'CRAD' })

// must fail: the object of another method
accept({ integrationType: 'HOSTED', type: 'IDEAL', card: {} })

// must fail: a misspelt member
accept({ integrationType: 'DIRECT', type: 'CARD', card: { nubmer: '4111111111111111' } })

// must fail: a key that no method has
accept({ integrationType: 'HOSTED', type: 'IDEAL', idael: {} })

// must fail: a type of event that does not exist
if (event.type === 'payment.succeeded') throw new Error()

// must fail: a member that only another event has
if (event.type === 'payment.captured') event.disputeId.trim()

// must fail: a card in the record of another method
if (record.paymentMethods?.type === 'IDEAL') record.paymentMethods.card?.last4Digits
