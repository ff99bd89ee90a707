/** What all service endpoints have in common: how they are described, and how their answers are kept under a key. */

import type { Merchant } from '#domain/merchant.ts'
import { describe, success } from '#domain/response-codes.ts'
import { perform, type Services } from '#endpoints/services.ts'
import { type Answer, answer, type IdempotencyKey } from '#http/endpoint.ts'
import { storeAnswer } from '#operations/key.ts'

export const serviceCall = {
  verb: 'POST',
  scope: 'payments',
  tag: 'Services',
  version: '2.5.0',
  access: 'merchant',
  idempotent: true,
  dialect: 'service',
} as const

export const describeCode = (responseCode: string) => ({
  responseCode,
  responseDescription: describe(responseCode).description,
})

export const succeeded = { status: 'OK', ...describeCode(success) } as const

/** Answers, and under a key stores the answer first. For calls that write nothing else. */
export const keep = (
  body: unknown,
  { merchant, key }: { merchant: Merchant; key: IdempotencyKey | undefined },
  { engine }: Services,
): Promise<Answer> => perform(storeAnswer(answer(200, body), { merchant, key }, engine))
