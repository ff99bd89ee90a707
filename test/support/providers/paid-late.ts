/** Customers who pay on a provider's page after their payment has ended here. */
import type { AnyJson } from '#test/support/any-json.ts'
import { openPage, sendForm } from '#test/support/browser/customer-page.ts'
import { dayMs, secondMs, type TestClock } from '#test/support/clock.ts'
import { cardPayment } from '#test/support/gateway.ts'
import type { LateStage } from '#test/support/providers/late-stage.ts'

export const euros = (value: number) => ({ value, currency: 'EUR' })

/** An operation as a notice names it. */
export const named = (xId: string) => ({ reference: xId as never })

export const hostedBody = (type: string, more: Record<string, unknown> = {}) => {
  const { paymentMethods: _, ...body } = cardPayment({
    urls: { return: 'https://shop.example/back', cancel: 'https://shop.example/cancel' },
    ...more,
  })
  return { ...body, paymentMethods: { integrationType: 'HOSTED', type } }
}

export interface LateCustomers {
  /** A provider's page that was open until its payment expired; the customer has agreed to the plan, if there is one. */
  expired(type?: string, more?: Record<string, unknown>): Promise<AnyJson>
  /** A page on which the customer pays because the provider could not be told to close it; returns the payId. */
  paidLate(): Promise<string>
}

export function lateCustomers({ gateway, runTimers, read, provider, deliver }: LateStage, clock: TestClock) {
  const expired: LateCustomers['expired'] = async (type = 'IDEAL', more = {}) => {
    const { body } = await gateway.call('POST', '/payments', hostedBody(type, more))
    if (body.paymentPlanId !== undefined)
      await sendForm(await openPage(body._links.redirect.href), { type, planConsent: 'yes' })
    clock.move(dayMs + secondMs)
    await runTimers()
    const { status } = await read(body.payId)
    if (status !== 'FAILED') throw new Error(`the payment should have expired, but is ${status}`)
    return body
  }
  const paidLate: LateCustomers['paidLate'] = async () => {
    const { payId, xId } = await expired()
    provider.payAnyway(xId)
    await deliver()
    await deliver()
    return payId
  }
  return { expired, paidLate }
}
