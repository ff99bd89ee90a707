/**
 * The targets of random requests: payments, links, intents, plans, customers and events of one merchant, in different
 * states.
 */
import { addDays, dayOf } from '#domain/time/calendar.ts'
import { cardPayment, type TestGateway } from '#test/support/gateway.ts'

export interface World {
  readonly authorization: string
  readonly payIds: readonly string[]
  readonly transIds: readonly string[]
  /** Grows: the newest ones are still open, wherever the clock is. */
  readonly intentIds: string[]
  readonly planIds: readonly string[]
  readonly eventIds: readonly string[]
  readonly linkIds: readonly string[]
  readonly customers: readonly FuzzCustomer[]
}

export interface FuzzCustomer {
  readonly customerId: string
  readonly methodId: string
}

const times = <T>(count: number, make: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => make(index)))

export async function makeWorld(gateway: TestGateway, authorization: string): Promise<World> {
  const { call } = gateway
  const eventIds = await makeEvents(gateway)
  const ended = await makeEndedPlans(gateway)
  const manual = cardPayment({
    amount: { value: 999_999_999_999, currency: 'EUR' },
    captureMethod: { type: 'MANUAL' },
  })
  const transIds = ['fuzz-0', 'fuzz-1', 'fuzz-2', 'fuzz-3', 'fuzz-4']
  const payIds = await times(transIds.length, async index => {
    const { body } = await call('POST', '/payments', { ...manual, transId: transIds[index] })
    return body.payId as string
  })
  const intentIds = await times(100, async index => {
    const request = index % 10 === 0 ? {} : { amount: { value: 1 + index, currency: 'EUR' } }
    return (await call('POST', '/payment-intents', request)).body.id as string
  })
  const open = await times(60, index =>
    makePlan(gateway, { ...(index % 3 ? { useCase: 'FIXED' } : {}), autoCharge: index % 2 === 0 }),
  )
  // 60: random deletions leave enough for the other requests.
  const customers = await times(60, index => makeCustomer(gateway, index))
  const linkIds = await makeLinks(gateway)
  const planIds = [...open, ...ended]
  return { authorization, payIds, transIds, intentIds, planIds, eventIds, linkIds, customers }
}

async function makePlan({ call }: TestGateway, recurring: object): Promise<string> {
  const credentialOnFile = {
    type: 'RECURRING',
    initialPayment: true,
    recurring: { frequency: 'MONTHLY', ...recurring },
  }
  return (await call('POST', '/payments', cardPayment({ credentialOnFile }))).body.paymentPlanId
}

/** Plans that have completed. */
async function makeEndedPlans(gateway: TestGateway): Promise<string[]> {
  const { now } = (await gateway.call('GET', '/test/clock')).body
  const expiryDate = addDays(dayOf(new Date(now)), 1)
  const made = await times(5, () => makePlan(gateway, { expiryDate, autoCharge: true }))
  await gateway.call('POST', '/test/clock', { advance: 'P3D' })
  return made
}

/** A page that its customer cancels sends an event. */
async function makeEvents({ call }: TestGateway): Promise<string[]> {
  const urls = { return: 'https://shop.example/', cancel: 'https://shop.example/' }
  const request = { transId: 'fuzz-event', amount: { value: 1, currency: 'EUR' }, urls }
  const { body } = await call('POST', '/payments/sessions', request)
  await call('POST', `/test/payments/${body.payId}/customer-action`, { action: 'cancel' })
  const { data } = (await call('GET', '/events?page=1')).body
  return data.map(({ id }: { id: string }) => id)
}

/** The first one is cancelled. */
async function makeLinks({ call }: TestGateway): Promise<string[]> {
  const made = await times(5, async index => {
    const request = { transId: `fuzz-link-${index}`, amount: { value: 1, currency: 'EUR' } }
    return (await call('POST', '/payments/links', request)).body
  })
  await call('POST', `/payments/${made[0].payId}/cancellations`, {})
  return made.map(({ id }) => id)
}

/** A customer whose card is randomly deleted soon pays with it again. */
async function makeCustomer({ call }: TestGateway, index: number): Promise<FuzzCustomer> {
  const customerInfo = { merchantCustomerId: `fuzz-${index}`, email: 'ada@example.com' }
  const { body } = await call('POST', '/payments', cardPayment({ customerInfo }))
  const customerId = body.customerInfo.gatewayCustomerId
  const listed = await call('GET', `/customers/${customerId}/paymentMethods`)
  return { customerId, methodId: listed.body.data[0].id }
}
