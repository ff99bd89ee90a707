/** Adyen's answers about sessions and modifications. */
import { describe, expect, test } from 'vitest'
import { answered, asked, said } from '#connectors/adyen/translate/answers.test-support.ts'
import {
  fromEndedPage,
  fromModification,
  fromNewSession,
  fromSessionResult,
  fromTechnicalCancel,
} from '#connectors/adyen/translate/answers.ts'
import { xIdOf } from '#lifecycle/example-payment.test-support.ts'
import { absenceNote, hasAdyenDocuments, readAdyenDocument } from '#test/support/adyen/documents.ts'

describe('answers about sessions', () => {
  const session = {
    id: 'CS1',
    url: 'https://checkoutshopper.example/CS1',
    expiresAt: '2026-03-01T13:00:00Z',
    reference: asked.reference,
    amount: asked.amount,
  }

  test('a new session sends the customer to its page', () => {
    expect(fromNewSession(answered(201, session), asked).authorization).toEqual({
      kind: 'action',
      action: { type: 'redirect', url: session.url, verb: 'GET' },
      provider: { echo: asked, fields: { sessionId: 'CS1' } },
      expiresAt: new Date(session.expiresAt),
    })
  })

  test.each([
    ['lost', { kind: 'lost', reason: 'reset' } as const, 'unreached'],
    ['a server error', answered(500, ''), 'unreached'],
    ['truncated', answered(201, '{"id":"CS1"'), 'unreached'],
    ['of another amount', answered(201, { ...session, amount: { value: 1, currency: 'EUR' } }), 'unreached'],
    ['without an address', answered(201, { ...session, url: undefined }), 'unreached'],
    ['refused', answered(422, { errorCode: '137' }), '0313'],
  ])('a session whose answer is %s has charged nobody', (_, answer, outcome) => {
    expect(said(fromNewSession(answer, asked).authorization)).toBe(outcome)
  })

  const paid = { resultCode: 'Authorised', pspReference: 'PSP1', amount: asked.amount }
  // Every value of `status` in Checkout v72.
  const states: readonly (readonly [string, string])[] = [
    ['completed', 'approved'],
    ['paymentPending', 'pending'],
    ['refused', '0305'],
    ['canceled', '0703'],
    ['expired', '0402'],
    ['active', 'pending'],
  ]

  test.each(states)('%s is %s', (status, outcome) => {
    const body = { id: 'CS1', reference: asked.reference, status, payments: [paid] }
    expect(said(fromSessionResult(answered(200, body), asked).authorization)).toBe(outcome)
  })

  test('the table has every state of Adyen’s document', ({ skip }) => {
    if (!hasAdyenDocuments) skip(absenceNote)
    const { schemas } = readAdyenDocument('CheckoutService-v72.json').components
    expect(states.map(([status]) => status).sort()).toEqual(
      schemas.SessionResultResponse.properties.status.enum.toSorted(),
    )
  })

  test.each([
    ['an unknown state', answered(200, { status: 'teleported', reference: asked.reference })],
    ['another reference', answered(200, { status: 'completed', reference: xIdOf(9), payments: [paid] })],
    ['completed without a payment', answered(200, { status: 'completed', reference: asked.reference })],
    [
      'another amount',
      answered(200, {
        status: 'completed',
        reference: asked.reference,
        payments: [{ ...paid, amount: { value: 1, currency: 'EUR' } }],
      }),
    ],
    ['a server error', answered(500, '')],
    ['no answer', { kind: 'lost', reason: 'reset' } as const],
  ])('%s leaves the outcome to the notice', (_, answer) => {
    expect(said(fromSessionResult(answer, asked).authorization)).toBe('pending')
  })
})

describe('answers to captures, refunds, reversals and increments', () => {
  const sent = { value: 1000, currency: 'EUR' }
  const received = {
    status: 'received',
    reference: asked.reference,
    amount: sent,
    pspReference: 'MOD1',
    paymentPspReference: 'PSP1',
  }

  test.each([
    ['received', 'pending'],
    ['authorised', 'approved'],
    ['refused', '0305'],
    ['teleported', 'unknown'],
  ])('%s is %s', (status, outcome) => {
    expect(said(fromModification(answered(201, { ...received, status }), asked, sent))).toBe(outcome)
  })

  test('the table has every state of Adyen’s document', ({ skip }) => {
    if (!hasAdyenDocuments) skip(absenceNote)
    const { schemas } = readAdyenDocument('CheckoutService-v72.json').components
    const names = ['Cancel', 'Capture', 'Refund', 'AmountUpdate', 'Reversal'].map(n => `Payment${n}Response`)
    const states = names.flatMap(name => schemas[name].properties.status.enum)
    expect([...new Set(states)].sort()).toEqual(['authorised', 'received', 'refused'])
  })

  test('an answer about another amount is unknown', () => {
    const answer = answered(201, { ...received, amount: { value: 1, currency: 'EUR' } })
    expect(said(fromModification(answer, asked, sent))).toBe('unknown')
  })

  test('the answer must echo the new total', () => {
    const total = { value: 1400, currency: 'EUR' }
    expect(said(fromModification(answered(201, { ...received, amount: total }), asked, total))).toBe(
      'pending',
    )
  })

  const cancelled = { status: 'received', paymentReference: asked.reference, pspReference: 'MOD1' }

  test('undoing a payment by our reference is pending until its notice arrives', () => {
    expect(said(fromTechnicalCancel(answered(201, cancelled), asked))).toBe('pending')
    expect(said(fromEndedPage(answered(201, cancelled), asked))).toBe('0704')
  })

  test('a refusal to undo a payment by our reference proves nothing about the payment', () => {
    expect(said(fromTechnicalCancel(answered(422, { errorCode: '130' }), asked))).toBe('unknown')
    expect(said(fromEndedPage(answered(401, ''), asked))).toBe('unknown')
  })
})
