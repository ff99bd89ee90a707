/** Payments at the double of Adyen as a merchant makes them. */
import { expect } from 'vitest'
import type { AdyenGateway } from '#test/support/adyen/gateway.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { cardPayment, type TestAnswer } from '#test/support/gateway.ts'

export const urls = { return: 'https://shop.example/return', cancel: 'https://shop.example/cancel' }
export const manual = { captureMethod: { type: 'MANUAL' } }

/** A payment by a method that the customer pays on Adyen's page. */
export const methodPayment = (type: string, change: AnyJson = {}): AnyJson => ({
  ...cardPayment(change),
  urls,
  paymentMethods: { integrationType: 'HOSTED', type },
  ...change,
})

export interface AdyenPayments {
  post(path: string, body: AnyJson): Promise<TestAnswer>
  follow(payId: string, name: string, value: number, change?: AnyJson): Promise<TestAnswer>
  /** Makes a card payment that is authorised and waits for its capture. */
  authorized(change?: AnyJson): Promise<string>
  statusOf(payId: string): Promise<string>
}

let steps = 0

export function payThrough(shop: AdyenGateway): AdyenPayments {
  const post = (path: string, body: AnyJson) => shop.gateway.call('POST', path, body)
  return {
    post,
    follow(payId, name, value, change = {}) {
      steps += 1
      const body = { transId: `step-${steps}`, amount: { value, currency: 'EUR' }, ...change }
      return post(`/payments/${payId}/${name}`, body)
    },
    async authorized(change = {}) {
      const { body } = await post('/payments', cardPayment({ ...manual, ...change }))
      expect(body.status).toBe('AUTHORIZED')
      return body.payId
    },
    statusOf: async payId => (await shop.record(payId)).status,
  }
}

/** What Adyen's ledger has for the payment of this record. */
export function ledgerOf(shop: AdyenGateway, record: AnyJson) {
  const found = [...shop.double.ledger.payments.values()].find(({ pspReference }) =>
    JSON.stringify(record).includes(pspReference),
  )
  if (!found) throw new Error(`the ledger has nothing for ${record.payId}`)
  return found
}
