/** The simulator's answers by number, by simulation mode and by earlier operations. */
import { describe, expect, test } from 'vitest'
import {
  ask,
  authorize,
  broken,
  card,
  followUp,
  iban,
  inquire,
  keep,
  merchantId,
  said,
  signal,
} from '#connectors/simulator/ask.test-support.ts'
import { createSimulator } from '#connectors/simulator/simulator.ts'
import { scenarioOf, testAccounts, testCards } from '#connectors/simulator/test-numbers.ts'
import { methodOf, now, xIdOf } from '#lifecycle/example-payment.test-support.ts'

describe('test numbers', () => {
  // Each line: the number; then the outcomes of its authorisation, its automatic capture, a manual capture, a refund,
  // and an inquiry about the authorisation.
  test.each<[string, string, string | undefined, string, string, string]>([
    ['4111111111111111', 'approved', 'approved', 'approved', 'approved', 'approved'],
    ['5555555555554444', 'approved', 'approved', 'approved', 'approved', 'approved'],
    ['4000000000000002', '0305', undefined, 'approved', 'approved', '0305'],
    ['4000000000009995', '0351', undefined, 'approved', 'approved', '0351'],
    ['4000000000000069', '0354', undefined, 'approved', 'approved', '0354'],
    ['4000000000009987', '0341', undefined, 'approved', 'approved', '0341'],
    ['4000000000009979', '0343', undefined, 'approved', 'approved', '0343'],
    ['4000000000000119', '0396', undefined, 'approved', 'approved', '0396'],
    ['4000000000000341', 'approved', '0305', '0305', 'approved', 'approved'],
    ['4000000000005126', 'approved', 'approved', 'approved', '0305', 'approved'],
    ['4000000000000101', 'unknown', 'unknown', 'approved', 'approved', 'approved'],
    ['4000000000000259', 'unreached', undefined, 'approved', 'approved', 'unreached'],
  ])(
    '%s: %s, capture %s, later capture %s, refund %s',
    async (number, first, automatic, later, refund, asked) => {
      const simulator = createSimulator()
      const question = ask('AUTHORIZATION', { ...card(number), captureReference: xIdOf(2) })
      const { authorization, capture, prepared } = await authorize(simulator, question)
      expect([said(authorization), said(capture)]).toEqual([first, automatic])
      expect(said((await followUp(simulator, 'CAPTURE', { approval: prepared })).outcome)).toBe(later)
      expect(said((await followUp(simulator, 'REFUND', { approval: prepared })).outcome)).toBe(refund)
      expect(said((await followUp(simulator, 'REVERSAL', { approval: prepared })).outcome)).toBe('approved')
      expect(said((await followUp(simulator, 'INCREMENTAL', { approval: prepared })).outcome)).toBe(
        'approved',
      )
      expect(said(await inquire(simulator, question, prepared))).toBe(asked)
    },
  )

  test.each([
    ['DE89370400440532013000', 'approved'],
    ['DE89 3704 0044 0532 0130 00', 'approved'],
    ['DE62370400440532013001', '0351'],
    ['DE62 3704 0044 0532 0130 01', '0351'],
  ])('%s: %s, for a debit and for a credit', async (number, expected) => {
    const simulator = createSimulator()
    const method = methodOf('DIRECTDEBIT')
    expect(
      said((await authorize(simulator, ask('AUTHORIZATION', { method, ...iban(number) }))).authorization),
    ).toBe(expected)
    const credit = ask('CREDIT', { method, ...iban(number) })
    const paid = await simulator.credit?.({ ...credit, kept: keep(simulator, credit), send: 1 }, signal)
    expect(said(paid)).toBe(expected)
  })

  test('every number of the catalogue is unique and describes its outcome', () => {
    const listed = [...testCards, ...testAccounts]
    expect(new Set(listed.map(({ number }) => number)).size).toBe(listed.length)
    for (const { number, scenario } of listed) expect(scenarioOf(number)).toBe(scenario)
  })

  test.each([
    ['202602', '0354'],
    ['202603', 'approved'],
  ])('a card that ends with %s, in March 2026: %s', async (expiryDate, expected) => {
    const question = ask('AUTHORIZATION', card('4111111111111111', expiryDate))
    expect(said((await authorize(createSimulator(), question)).authorization)).toBe(expected)
  })

  test('a credit has the same outcome as an authorisation with that card', async () => {
    const simulator = createSimulator()
    const credit = ask('CREDIT', card('4000000000009995'))
    const prepared = keep(simulator, credit)
    expect(said(await simulator.credit?.({ ...credit, kept: prepared, send: 1 }, signal))).toBe('0351')
    expect(said(await inquire(simulator, credit, prepared))).toBe('0351')
  })
})

describe('simulationMode', () => {
  // Each line: the mode, the card, the outcomes of the authorisation and of its automatic capture.
  test.each<[string, string, string, string | undefined]>([
    ['0000', '4111111111111111', 'approved', 'approved'],
    ['Test:0000', '4111111111111111', 'approved', 'approved'],
    ['0305', '4111111111111111', '0305', undefined],
    ['Test:0305', '4111111111111111', '0305', undefined],
    ['9999', '4111111111111111', '9999', undefined],
    ['0000', '4000000000000002', 'approved', 'approved'],
    ['0000', '4000000000000341', 'approved', 'approved'],
    ['0000', '4000000000000101', 'approved', 'approved'],
    ['0000', '4000000000000259', 'approved', 'approved'],
    ['0351', '4000000000000259', '0351', undefined],
    ['0351', '4000000000000002', '0351', undefined],
  ])('%s with %s: %s, capture %s', async (simulationMode, number, first, automatic) => {
    const simulator = createSimulator()
    const question = ask('AUTHORIZATION', { ...card(number), captureReference: xIdOf(2), simulationMode })
    const { authorization, capture, prepared } = await authorize(simulator, question)
    expect([said(authorization), said(capture)]).toEqual([first, automatic])
    expect(said(await inquire(simulator, question, prepared))).toBe(first)
  })

  test.each(['CAPTURE', 'REVERSAL', 'REFUND', 'INCREMENTAL'] as const)(
    '%s follows its own mode',
    async type => {
      const simulator = createSimulator()
      const { prepared: approval } = await authorize(
        simulator,
        ask('AUTHORIZATION', card('4111111111111111')),
      )
      for (const [simulationMode, expected] of [
        ['0000', 'approved'],
        ['0391', '0391'],
        ['Test:0391', '0391'],
      ] as const) {
        expect(said((await followUp(simulator, type, { approval, simulationMode })).outcome)).toBe(expected)
      }
    },
  )

  test('the mode of an authorisation does not affect its follow-ups', async () => {
    const simulator = createSimulator()
    const question = ask('AUTHORIZATION', { ...card('4000000000005126'), simulationMode: '0000' })
    const { prepared: approval } = await authorize(simulator, question)
    expect(said((await followUp(simulator, 'CAPTURE', { approval })).outcome)).toBe('approved')
  })

  test('a confirm has the outcome of its first step, or that of its own mode', () => {
    const simulator = createSimulator()
    const first = keep(simulator, ask('AUTHORIZATION', card('4000000000000002')))
    expect(keep(simulator, ask('CONFIRM'), first)).toEqual(first)
    expect(keep(simulator, ask('CONFIRM', { simulationMode: '0000' }), first)).toEqual({})
    expect(keep(simulator, ask('CONFIRM', { simulationMode: '0354' }), first)).toEqual({ decline: '0354' })
  })
})

describe('an inquiry', () => {
  // The inquiry returns the facts of the lost answer, even in a process that was started since.
  test.each(['4111111111111111', '4000000000000002', '4000000000000341'])(
    'finds the lost answer for %s',
    async number => {
      const question = ask('AUTHORIZATION', { ...card(number), captureReference: xIdOf(2) })
      const heard = await authorize(createSimulator(), question)
      const { simulator } = broken({ fault: 'lost_answer', times: 1 })
      const lost = await authorize(simulator, question)
      expect(said(lost.authorization)).toBe('unknown')
      const later = createSimulator()
      expect(await inquire(later, question, lost.prepared)).toEqual(heard.authorization)
      if (!heard.capture) return
      const capture = { ...question, operation: 'CAPTURE', reference: xIdOf(2) } as const
      expect(await inquire(later, capture, lost.prepared)).toEqual(heard.capture)
    },
  )

  test('uses up no fault', async () => {
    const { simulator, faults } = broken({ fault: 'decline', times: 5 })
    await inquire(simulator, ask('CAPTURE'), {})
    expect(faults.list(merchantId)).toMatchObject([{ times: 5 }])
  })
})

describe('the facts in an answer', () => {
  test('are the same for the same reference and different for another', async () => {
    const question = ask('AUTHORIZATION', card('4111111111111111'))
    const [first, again, other] = await Promise.all([
      authorize(createSimulator(), question),
      authorize(createSimulator(), question),
      authorize(createSimulator(), { ...question, reference: xIdOf(8) }),
    ])
    expect(again).toEqual(first)
    expect(other).not.toEqual(first)
  })

  test('echo the request, with an approval code or with the text of the decline', async () => {
    const approved = await authorize(createSimulator(), ask('AUTHORIZATION', card('4111111111111111')))
    expect(approved.authorization).toMatchObject({
      kind: 'approved',
      provider: {
        echo: { reference: xIdOf(1), amount: { value: 1000, currency: 'EUR' } },
        responseCode: '00',
        transactionId: expect.stringMatching(/^sim[0-9a-f]{20}$/),
        schemeReferenceId: expect.stringMatching(/^[0-9]{15}$/),
      },
    })
    const { provider } = approved.authorization as {
      provider: { approvalCode: number; responseText?: string }
    }
    expect(String(provider.approvalCode)).toMatch(/^[1-9][0-9]{5}$/)
    expect(provider.responseText).toBeUndefined()
    const declined = await authorize(createSimulator(), ask('AUTHORIZATION', card('4000000000009995')))
    expect(declined.authorization).toMatchObject({
      kind: 'declined',
      detail: '0351',
      provider: { responseCode: '51', responseText: 'Insufficient funds' },
    })
  })

  // Each line: the method and a field that only its provider returns.
  test.each([
    ['PROVIDERK', 'invoiceNumber'],
    ['PROVIDERP', 'netRefundAmount'],
    ['PROVIDERT', 'paymentReference'],
    ['PROVIDERZ', 'chargeId'],
  ])('%s tells its %s', async (type, field) => {
    const question = ask('AUTHORIZATION', { method: methodOf(type) })
    const told = await inquire(createSimulator(), question, {})
    expect(told).toMatchObject({ provider: { fields: { [field]: expect.anything() } } })
  })

  // Each line: the method, and the customer's step.
  test.each([
    ['PROVIDERP', { type: 'redirect', challenge: false }],
    ['BOLETO', { type: 'instructions' }],
  ])('%s sends the customer on first, and decides when they are back', async (type, action) => {
    const simulator = createSimulator()
    const question = ask('AUTHORIZATION', { method: methodOf(type) })
    const { authorization, prepared: approval } = await authorize(simulator, question)
    expect(authorization).toMatchObject({ kind: 'action', action })
    expect(await inquire(simulator, question, approval)).toMatchObject({ kind: 'action', action })
    for (const [decision, expected] of [
      ['approve', 'approved'],
      ['decline', '0305'],
    ] as const) {
      const returned = { query: { action: decision }, form: {} }
      const kept = await simulator.keep?.({ request: question, approval, returned })
      const { operation, reference, amount, payment } = question
      const back = { operation, reference, amount, payment, kept, sentAt: now, send: 1, ...returned }
      expect(said((await simulator.complete?.(back, signal))?.authorization)).toBe(expected)
    }
  })

  test.each([
    [1000, 29, 971],
    [1, 0, 1],
    [999_999_999_999, 28_999_999_999, 971_000_000_000],
  ])('provider P keeps its fee of %i: %i, %i are left', async (value, fee, net) => {
    const question = ask('REFUND', { method: methodOf('PROVIDERP'), amount: { value, currency: 'EUR' } })
    const fields = { grossRefundAmount: value, feeRefundAmount: fee, netRefundAmount: net }
    expect(await inquire(createSimulator(), question, {})).toMatchObject({ provider: { fields } })
  })

  test('include the account for a transfer only if one was requested', async () => {
    const question = ask('AUTHORIZATION', { method: methodOf('PROVIDERT') })
    const asked = await inquire(createSimulator(), question, { transferType: 'BANK_TRANSFER' })
    expect(asked).toMatchObject({ provider: { fields: { account: { number: 'DE89370400440532013000' } } } })
    const { provider } = (await inquire(createSimulator(), question, {})) as { provider: { fields: object } }
    expect(provider.fields).not.toHaveProperty('account')
  })
})

test('the simulator never stores a card number', () => {
  const prepared = testCards.map(({ number }) => keep(createSimulator(), ask('AUTHORIZATION', card(number))))
  for (const { number } of testCards) expect(JSON.stringify(prepared)).not.toContain(number)
})
