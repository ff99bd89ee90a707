/** The simulator's latency and ordered faults. */
import { describe, expect, test } from 'vitest'
import {
  ask,
  authorize,
  broken,
  card,
  followUp,
  inquire,
  merchantId,
  said,
} from '#connectors/simulator/ask.test-support.ts'
import type { FaultRule } from '#connectors/simulator/faults.ts'
import { createSimulator } from '#connectors/simulator/simulator.ts'
import { xIdOf } from '#lifecycle/example-payment.test-support.ts'

describe('latency', () => {
  // Each line: the latency, and whether the answer comes before any timer can fire.
  test.each([
    [0, true],
    [50, false],
  ])('of %i ms: answered at once %s', async (latencyMs, atOnce) => {
    const simulator = createSimulator({ latencyMs })
    let answers = 0
    const count = <T>(answer: T): T => {
      answers += 1
      return answer
    }
    const question = ask('AUTHORIZATION', { captureReference: xIdOf(6), ...card('4111111111111111') })
    const asked = [
      authorize(simulator, question).then(count),
      followUp(simulator, 'REFUND', { approval: {} }).then(count),
      inquire(simulator, question, {}).then(count),
    ]
    await new Promise(resolve => setImmediate(resolve))
    expect(answers).toBe(atOnce ? asked.length : 0)
    await Promise.all(asked)
    expect(answers).toBe(asked.length)
  })
})

describe('faults', () => {
  // Each line: the fault, its uses; the outcome, the number of requests that arrive, the inquiry's outcome, the uses
  // left.
  test.each<[FaultRule['fault'], number, string, number, string, number]>([
    ['decline', 1, '0305', 1, '0305', 0],
    ['decline', 2, '0305', 1, '0305', 1],
    ['delay', 1, 'approved', 1, 'approved', 0],
    ['lost_answer', 1, 'unknown', 1, 'approved', 0],
    ['lost_answer', 2, 'unknown', 1, 'approved', 1],
    ['error', 1, 'unknown', 1, 'approved', 0],
    ['lost_request', 1, 'approved', 1, 'approved', 0],
    ['lost_request', 2, 'approved', 1, 'approved', 0],
    ['lost_request', 3, 'unreached', 0, 'unreached', 0],
    ['lost_request', 4, 'unreached', 0, 'unreached', 1],
  ])('%s × %i: %s, %i arrive, inquiry %s', async (fault, times, heard, arrived, asked, left) => {
    for (const type of ['CAPTURE', 'REVERSAL', 'REFUND', 'INCREMENTAL', 'AUTHORIZATION'] as const) {
      const { simulator, messages, faults } = broken({ fault, times })
      const question = ask(type, { reference: xIdOf(5), ...card('4111111111111111') })
      const { outcome, prepared } =
        type === 'AUTHORIZATION'
          ? await authorize(simulator, question).then(({ authorization, ...rest }) => ({
              outcome: authorization,
              ...rest,
            }))
          : await followUp(simulator, type, { approval: {} })
      expect([type, said(outcome), messages.length]).toEqual([type, heard, arrived])
      expect(said(await inquire(simulator, question, prepared))).toBe(asked)
      expect(faults.list(merchantId).reduce((sum, rule) => sum + rule.times, 0)).toBe(left)
    }
  })

  // Each line: the fault of captures, its uses; the outcome of the automatic capture and of an inquiry.
  test.each<[FaultRule['fault'], number, string, string]>([
    ['decline', 1, '0305', '0305'],
    ['delay', 1, 'approved', 'approved'],
    ['lost_answer', 1, 'unknown', 'approved'],
    ['error', 1, 'unknown', 'approved'],
    ['lost_request', 2, 'approved', 'approved'],
    ['lost_request', 3, 'unreached', 'unreached'],
  ])('%s × %i of captures strikes one in the same message: %s', async (fault, times, heard, asked) => {
    const { simulator, faults } = broken()
    faults.add(merchantId, { operation: 'CAPTURE', fault, times })
    const captureReference = xIdOf(6)
    const question = ask('AUTHORIZATION', { captureReference, ...card('4111111111111111') })
    const { authorization, capture, prepared } = await authorize(simulator, question)
    expect([said(authorization), said(capture)]).toEqual(['approved', heard])
    const later = ask('CAPTURE', { reference: captureReference })
    expect(said(await inquire(simulator, later, prepared))).toBe(asked)
    expect(faults.list(merchantId)).toEqual([])
    // A later manual capture is not affected.
    expect(said((await followUp(simulator, 'CAPTURE', { approval: prepared })).outcome)).toBe('approved')
  })

  test('a declined payment does not use up the fault of captures', async () => {
    const { simulator, faults } = broken()
    faults.add(merchantId, { operation: 'CAPTURE', fault: 'decline', times: 1 })
    const question = ask('AUTHORIZATION', { captureReference: xIdOf(6), simulationMode: '0305' })
    expect(said((await authorize(simulator, question)).authorization)).toBe('0305')
    expect(faults.list(merchantId)).toHaveLength(1)
  })

  test('a fault may decline with a code of its own', async () => {
    const { simulator } = broken({ fault: 'decline', code: '61', times: 1 })
    expect(said((await followUp(simulator, 'CAPTURE', { approval: {} })).outcome)).toBe('0361')
  })

  test('a fault applies in addition to the scenario of the number', async () => {
    const { simulator } = broken({ fault: 'lost_answer', times: 1 })
    const question = ask('AUTHORIZATION', card('4000000000000002'))
    const { authorization, prepared } = await authorize(simulator, question)
    expect([said(authorization), said(await inquire(simulator, question, prepared))]).toEqual([
      'unknown',
      '0305',
    ])
  })

  test('a lost request does not use up rules behind another fault', async () => {
    const { simulator, faults } = broken(
      { fault: 'lost_request', times: 1 },
      { fault: 'decline', times: 1 },
      { fault: 'lost_request', times: 1 },
    )
    expect(said((await followUp(simulator, 'CAPTURE', { approval: {} })).outcome)).toBe('approved')
    expect(faults.list(merchantId).map(({ fault }) => fault)).toEqual(['decline', 'lost_request'])
  })

  test('a lost request skips rules of other operations', async () => {
    const { simulator, faults } = broken()
    faults.add(merchantId, { operation: 'REFUND', fault: 'decline', times: 1 })
    faults.add(merchantId, { operation: 'CAPTURE', fault: 'lost_request', times: 3 })
    expect(said((await followUp(simulator, 'CAPTURE', { approval: {} })).outcome)).toBe('unreached')
    expect(faults.list(merchantId).map(({ operation }) => operation)).toEqual(['REFUND'])
  })
})
