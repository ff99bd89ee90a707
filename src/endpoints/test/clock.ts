/** `GET` and `POST /test/clock`: reads the merchant's clock, and moves it forward. */

import { latestDay, latestMs, parseInstant } from '#domain/time/dates.ts'
import { addDuration } from '#domain/time/duration.ts'
import type { Services } from '#endpoints/services.ts'
import { actOnce } from '#endpoints/test/once.ts'
import { answer, endpoint } from '#http/endpoint.ts'
import { InvalidField } from '#http/server/ports.ts'
import { merchantNow } from '#operations/engine.ts'
import { failedResult } from '#schemas/result.ts'
import { type ClockRequest, clock, clockRequest } from '#schemas/test-tools.ts'

const shared = {
  path: '/test/clock',
  tag: 'Test',
  version: '2.5.0',
  access: 'merchant',
  idempotent: false,
  testOnly: true,
  dialect: 'payment',
  answers: { 200: clock },
} as const

export const getClockEndpoint = endpoint<Services>({
  ...shared,
  verb: 'GET',
  scope: 'test',
  operationId: 'getTestClock',
  summary: 'Read the test clock',
  description: 'Every merchant of the test environment has a clock of its own, which starts as real time.',
  examples: [{ summary: 'The time', status: 200, answer: { now: '2026-11-15T12:00:00.000Z' } }],
  handle: async ({ merchant }, { engine }) =>
    answer(200, { now: merchantNow(engine.clock, merchant).toISOString() }),
})

export const moveClockEndpoint = endpoint<Services, typeof clockRequest>({
  ...shared,
  verb: 'POST',
  scope: 'test',
  operationId: 'moveTestClock',
  summary: 'Move the test clock forward',
  description:
    'Moves by a duration or to an instant, never back. The answer comes when everything that became due has run: ' +
    'delayed captures, expiries, inquiries of unknown outcomes, deliveries of events, retention of keys.',
  body: clockRequest,
  examples: [
    {
      summary: 'An hour later',
      body: { advance: 'PT1H' },
      status: 200,
      answer: { now: '2026-11-15T13:00:00.000Z' },
    },
    {
      summary: 'Eight days later',
      body: { advance: 'P8D' },
      status: 200,
      answer: { now: '2026-11-23T12:00:00.000Z' },
    },
  ],
  idempotent: true,
  answers: { 200: clock, 422: failedResult },
  handle: (call, services) =>
    actOnce(call, services, async () => {
      const { body, merchant } = call
      const { clock } = services.engine
      const nowMs = merchantNow(clock, merchant).getTime()
      const target = readTarget(body, nowMs)
      const charges = await services.testTools.clock.countCharges(merchant, target)
      if (charges > chargesMax) {
        const field = body.advance === undefined ? 'now' : 'advance'
        throw new InvalidField(
          field,
          `would make about ${charges} charges of payment plans due; at most ${chargesMax} are made in one call, so move in smaller steps`,
        )
      }
      if (await services.testTools.clock.isTooMuch(merchant, target, dueMax)) {
        const field = body.advance === undefined ? 'now' : 'advance'
        throw new InvalidField(
          field,
          `would make more than ${dueMax} captures, expiries, inquiries and deliveries due; so many are not run in one call, so move in smaller steps`,
        )
      }
      const way = body.advance === undefined ? { toMs: target } : { byMs: target - nowMs }
      const moved = await services.testTools.clock.move(merchant, way)
      const clockOffsetMs = moved.getTime() - clock.nowMs()
      return { body: { now: moved.toISOString() }, merchant: { ...merchant, clockOffsetMs } }
    }),
})

/**
 * 5,000: a daily plan for thirteen years, and some seconds of work; more would keep the database busy for everybody
 * else.
 */
const chargesMax = 5_000

/** 20,000: as many as a long test run leaves behind; at some hundred a second they take a minute. */
const dueMax = 20_000

function readTarget({ advance, now }: ClockRequest, nowMs: number): number {
  const field = advance === undefined ? 'now' : 'advance'
  const target = advance === undefined ? parseInstant(now ?? '') : addDuration(nowMs, advance)
  const given = advance ?? now
  if (target === undefined || target > latestMs) {
    throw new InvalidField(field, `is ${given}; the clock goes to ${latestDay} at the latest`)
  }
  if (target < nowMs) {
    const stands = `the clock stands at ${new Date(nowMs).toISOString()} and moves forward only`
    throw new InvalidField(field, `is ${given}; ${stands}`)
  }
  return target
}
