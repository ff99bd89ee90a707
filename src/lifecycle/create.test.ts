import { describe, expect, test } from 'vitest'
import type { MerchantId, PayId } from '#domain/ids.ts'
import { type CreateCommand, firstStep, type NewPayment, openPayment } from '#lifecycle/create.ts'
import { later, methodOf, now, xIdOf } from '#lifecycle/example-payment.test-support.ts'
import { noSums } from '#lifecycle/payment.ts'
import { allMethods } from '#methods/catalogue.ts'

const create = (type: string, change: Partial<CreateCommand> = {}): CreateCommand => ({
  merchantId: 'mer_1' as MerchantId,
  transId: 'order-1',
  refNr: 'r-1',
  method: methodOf(type),
  integrationType: 'DIRECT',
  amount: { value: 1000, currency: 'EUR' },
  captureMethod: { type: 'MANUAL' },
  details: { channel: 'ECOM' },
  ...change,
})
const later1 = { confirmsLater: true }
const plan = {
  details: {
    channel: 'ECOM' as const,
    credentialOnFile: { type: 'RECURRING' as const, initialPayment: true },
  },
}
const hosted = { integrationType: 'HOSTED' } as const

describe('firstStep', () => {
  // Each line: the request, and who acts first.
  test.each<[string, CreateCommand, ReturnType<typeof firstStep>]>([
    ['a card', create('CARD'), 'provider'],
    ['a card on our hosted page', create('CARD', hosted), 'customer'],
    ['a card for authentication only', create('CARD', later1), 'confirm'],
    ['a direct debit', create('DIRECTDEBIT'), 'provider'],
    ['two steps', create('PROVIDERK'), 'confirm'],
    ['two steps, on our hosted page', create('PROVIDERK', hosted), 'provider'],
    ['a purchase on invoice in two steps', create('PROVIDERR'), 'confirm'],
    ['a redirect', create('PROVIDERP', hosted), 'provider'],
    ['a redirect that begins a plan', create('PROVIDERP', { ...hosted, ...plan }), 'customer'],
    ['a redirect that begins a plan, DIRECT', create('BANCONTACT', plan), 'provider'],
    ['a redirect with a confirm to follow', create('PROVIDERP', { ...hosted, ...later1 }), 'provider'],
    ['a redirect with a confirm to follow, DIRECT', create('PROVIDERP', later1), 'provider'],
    ['a redirect, DIRECT', create('IDEAL'), 'provider'],
    ['a voucher', create('BOLETO'), 'provider'],
    ['a QR code', create('PIX'), 'provider'],
    ['a merchant-initiated payment', create('PROVIDERK', { merchantInitiated: true }), 'provider'],
  ])('%s: the %s', (_, command, mover) => expect(firstStep(command)).toBe(mover))

  test('on a hosted page with a form the customer acts first', () => {
    const filled = allMethods.filter(({ type }) => firstStep(create(type, hosted)) === 'customer')
    expect(filled).toEqual(allMethods.filter(({ flow }) => flow === 'direct'))
  })

  test('the provider is called at once except for methods with two steps', () => {
    const asked = allMethods.filter(({ type }) => firstStep(create(type)) === 'provider')
    expect(asked).toEqual(allMethods.filter(({ flow }) => flow !== 'multi_step'))
  })
})

const born = (command: CreateCommand, change: Partial<NewPayment> = {}) =>
  openPayment({
    command,
    kind: 'PAYMENT',
    payId: 'p' as PayId,
    xId: xIdOf(1),
    prepared: { a: 1 },
    now,
    ...change,
  })
const key = { verb: 'POST', path: '/payments', key: 'k' }

describe('openPayment', () => {
  test.each([
    [
      'with the provider called at once',
      born(create('CARD'), { key }),
      'PENDING',
      undefined,
      'SENT',
      '60000200',
      undefined,
      key,
    ],
    [
      'for a form on our hosted page',
      born(create('CARD', hosted), { key }),
      'AUTHORIZE_REQUEST',
      'CUSTOMER',
      'AUTHORIZE_REQUEST',
      '60000100',
      later(24),
      undefined,
    ],
    [
      'for a confirm',
      born(create('PROVIDERK'), { key }),
      'AUTHORIZE_REQUEST',
      'CONFIRM',
      'AUTHORIZE_REQUEST',
      '60000100',
      later(24),
      undefined,
    ],
    [
      'with a deadline in the request',
      born(create('CARD', { ...hosted, expiresAt: later(2) })),
      'AUTHORIZE_REQUEST',
      'CUSTOMER',
      'AUTHORIZE_REQUEST',
      '60000100',
      later(2),
      undefined,
    ],
    [
      'with the provider called at once and a deadline in the request',
      born(create('CARD', { expiresAt: later(2) })),
      'PENDING',
      undefined,
      'SENT',
      '60000200',
      later(2),
      undefined,
    ],
  ] as const)('%s', (_, payment, status, awaits, state, responseCode, expiresAt, joined) => {
    expect(payment).toMatchObject({
      kind: 'PAYMENT',
      sums: noSums,
      version: 1,
      eventSequence: 0,
      closedForCapture: false,
    })
    expect({ status: payment.status, awaits: payment.awaits, expiresAt: payment.expiresAt }).toEqual({
      status,
      awaits,
      expiresAt,
    })
    const [first, ...others] = payment.operations
    expect(others).toEqual([])
    expect(first).toMatchObject({
      xId: xIdOf(1),
      sequence: 1,
      type: 'AUTHORIZATION',
      state,
      responseCode,
      amount: 1000,
      prepared: expect.objectContaining({ a: 1 }),
    })
    expect(first?.key).toEqual(joined)
  })

  test('a credit is sent at once and its whole amount counts as paid out', () => {
    const credit = born(create('CARD'), { kind: 'CREDIT' })
    expect(credit).toMatchObject({ kind: 'CREDIT', status: 'PENDING', sums: { ...noSums, refunding: 1000 } })
    expect(credit.operations).toMatchObject([{ type: 'CREDIT', state: 'SENT', amount: 1000 }])
  })

  test('stores the data that later steps need with the first operation', () => {
    const command = create('PROVIDERK', {
      metadata: { a: 1 },
      hints: { simulationMode: '0000' },
      confirmsLater: true,
    })
    const [first] = born(command, { captureXId: xIdOf(2), clientToken: 't' }).operations
    const kept = {
      metadata: { a: 1 },
      simulationMode: '0000',
      confirmsLater: true,
      captureXId: xIdOf(2),
      clientToken: 't',
    }
    expect(first?.details).toEqual(kept)
  })
})
