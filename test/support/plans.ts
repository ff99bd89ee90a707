/** Payment plans as a shop makes and reads them. */
import type { AnyJson } from '#test/support/any-json.ts'
import type { TestAnswer } from '#test/support/gateway.ts'
import type { Change, Shop } from '#test/support/shop.ts'

export interface PlanTerms {
  readonly type?: 'RECURRING' | 'UNSCHEDULED'
  readonly recurring?: object
  readonly payment?: Change
}

let customers = 0

export function planPayment({ type = 'RECURRING', recurring, payment }: PlanTerms = {}): Change {
  customers += 1
  const isRecurring = type === 'RECURRING'
  return {
    credentialOnFile: {
      type,
      initialPayment: true,
      ...(isRecurring ? { recurring: recurring ?? { frequency: 'MONTHLY', useCase: 'FIXED' } } : {}),
    },
    customerInfo: { merchantCustomerId: `plan customer ${customers}`, email: 'ada@example.com' },
    ...payment,
    card: { expiryDate: '209912', ...payment?.card },
  }
}

/** Makes a plan by a card payment and returns the answer to that. */
export const beginPlan = (shop: Shop, terms?: PlanTerms): Promise<TestAnswer> =>
  shop.create('CARD', planPayment(terms))

export async function readPlan(shop: Shop, planId: string): Promise<AnyJson> {
  return (await shop.call('GET', `/payment-plans/${planId}`)).body
}

let charges = 0

export const chargePlan = (
  shop: Shop,
  planId: string,
  change: object = {},
  headers?: Record<string, string>,
): Promise<TestAnswer> => {
  charges += 1
  return shop.call(
    'POST',
    `/payment-plans/${planId}/charge`,
    { transId: `charge-${process.pid}-${charges}`, ...change },
    headers,
  )
}

export async function listPayments(shop: Shop, planId: string): Promise<AnyJson[]> {
  return (await shop.call('GET', `/payment-plans/${planId}/payments`)).body.data
}

/** Moves the merchant's clock to that instant. */
export async function moveTo(shop: Shop, now: string): Promise<void> {
  const { status, text } = await shop.call('POST', '/test/clock', { now })
  if (status !== 200) throw new Error(text)
}
