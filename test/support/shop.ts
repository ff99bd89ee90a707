/**
 * A merchant of its own on a running gateway, used over HTTP, with its own clock, faults and payments. This file
 * performs the shop's actions; the tests state the expected answers.
 */
import type { Merchant } from '#domain/merchant.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { basic, cardPayment, type TestAnswer, type TestGateway } from '#test/support/gateway.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

/** Paid in one request of the merchant's, or in two. */
export type DirectType = 'CARD' | 'DIRECTDEBIT' | 'PROVIDERK' | 'PROVIDERM' | 'PROVIDERR'
/** Paid on a page only. */
export type HostedType = 'PROVIDERP' | 'PROVIDERT' | 'PROVIDERZ'
export type ServedType = DirectType | HostedType

/** What is sent to /payments/{id}/…; the last one is a PATCH of the payment itself. */
export type FollowUpName = 'confirms' | 'captures' | 'reversals' | 'refunds' | 'incrementals'

export interface Shop {
  readonly merchantId: string
  readonly apiKey: string
  /** The header that signs in. */
  readonly authorization: string
  call(verb: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<TestAnswer>
  create(type: ServedType, change?: Change, headers?: Record<string, string>): Promise<TestAnswer>
  /**
   * Creates, confirms or lets the customer approve where the method needs it, and returns the payId. MANUAL unless the
   * change says otherwise.
   */
  authorize(type: ServedType, change?: Change): Promise<string>
  /** As authorize, then captures all of it. */
  sell(type: ServedType, change?: Change): Promise<string>
  act(
    payId: string,
    operation: FollowUpName,
    value: number,
    more?: object,
    headers?: Record<string, string>,
  ): Promise<TestAnswer>
  /** Acts as the customer on their page; returns the record. */
  customer(payId: string, action: 'approve' | 'decline' | 'cancel' | 'pending'): Promise<AnyJson>
  read(payId: string): Promise<AnyJson>
  /** Moves the merchant's test clock and returns its new time. */
  advance(duration: string): Promise<string>
  fail(rule: { operation: string; fault: string; times?: number; code?: string }): Promise<void>
  /** The events sent to the merchant, in order. */
  events(payId: string): Promise<ToldEvent[]>
}

export interface ToldEvent {
  readonly xId: string
  readonly status: string
  readonly responseCode: string
  readonly sequence: number
}

export type Change = Parameters<typeof cardPayment>[0]

export const currency = 'EUR'

const objects: Readonly<Record<Exclude<DirectType, 'CARD'>, readonly [key: string, object: object]>> = {
  DIRECTDEBIT: [
    'directDebit',
    { account: { number: 'DE89370400440532013000', accountHolderName: 'Ada Lovelace' } },
  ],
  PROVIDERK: ['providerK', {}],
  PROVIDERM: ['providerM', {}],
  PROVIDERR: ['providerR', {}],
}

/** The first digits of a decline by each method: kind and module. */
export const declinePrefix: Readonly<Record<ServedType, string>> = {
  CARD: '2100',
  DIRECTDEBIT: '2300',
  PROVIDERK: '2500',
  PROVIDERM: '2400',
  PROVIDERR: '2500',
  PROVIDERP: '2400',
  PROVIDERT: '2500',
  PROVIDERZ: '2400',
}

export const servedTypes = Object.keys(declinePrefix) as ServedType[]

const hostedTypes: readonly ServedType[] = ['PROVIDERP', 'PROVIDERT', 'PROVIDERZ']
export const isHostedOnly = (type: ServedType): type is HostedType => hostedTypes.includes(type)
export const directTypes = servedTypes.filter(type => !isHostedOnly(type))

/** The number of events up to the approval: a payment on a page sends one, because its result is in no answer. */
export const toldByApproval = (type: ServedType): number => (isHostedOnly(type) ? 1 : 0)

export const urls = { return: 'https://shop.example/return', cancel: 'https://shop.example/cancel' }

/** A payment by that method which is approved unless the changes say otherwise. */
export function methodPayment(type: ServedType, change: Change = {}): Record<string, unknown> {
  if (type === 'CARD') return cardPayment(change)
  if (isHostedOnly(type))
    return { ...cardPayment(), urls, paymentMethods: { integrationType: 'HOSTED', type }, ...change }
  const [key, object] = objects[type]
  return {
    ...cardPayment(),
    paymentMethods: { integrationType: 'DIRECT', type, [key]: object },
    ...change,
  }
}

/** The shop's merchant as the engine knows it, for tests that call operations themselves. */
export async function findMerchant(
  { merchantId }: Pick<Shop, 'merchantId'>,
  { gateway }: TestGateway,
): Promise<Merchant> {
  const found = (await gateway.merchants.list()).find(merchant => merchant.merchantId === merchantId)
  if (!found) throw new Error(`there is no merchant ${merchantId}`)
  return found
}

export async function openShop(gateway: TestGateway): Promise<Shop> {
  const { merchantId, apiKey } = await gateway.gateway.merchants.create('Shop')
  const authorization = basic(merchantId, apiKey)
  const call: Shop['call'] = (verb, path, body, headers) =>
    gateway.call(verb, path, body, { authorization, ...headers })
  const create: Shop['create'] = (type, change, headers) =>
    call('POST', '/payments', methodPayment(type, change), headers)
  const act: Shop['act'] = (payId, operation, value, more, headers) =>
    call(
      'POST',
      `/payments/${payId}/${operation}`,
      { transId: 'step', amount: { value, currency }, ...more },
      headers,
    )

  const customer: Shop['customer'] = async (payId, action) => {
    const { status, body, text } = await call('POST', `/test/payments/${payId}/customer-action`, { action })
    if (status !== 200) throw new Error(text)
    return body
  }

  async function authorize(type: ServedType, change?: Change): Promise<string> {
    const request = methodPayment(type, { captureMethod: { type: 'MANUAL' }, ...change })
    const { body } = await call('POST', '/payments', request)
    if (body.status !== 'AUTHORIZE_REQUEST') return body.payId
    if (body._links) {
      await customer(body.payId, 'approve')
      return body.payId
    }
    const { amount } = request as { amount: { value: number } }
    await act(body.payId, 'confirms', amount.value, { amount, ...tokenOf(body) })
    return body.payId
  }

  return {
    merchantId,
    apiKey,
    authorization,
    call,
    create,
    authorize,
    async sell(type, change) {
      const payId = await authorize(type, change)
      const { amount } = (await call('GET', `/payments/getByPayId/${payId}`)).body
      await act(payId, 'captures', amount.authorizedValue)
      return payId
    },
    act,
    customer,
    read: async payId => (await call('GET', `/payments/getByPayId/${payId}`)).body,
    async advance(duration) {
      const { status, body, text } = await call('POST', '/test/clock', { advance: duration })
      if (status !== 200) throw new Error(text)
      return body.now
    },
    async fail({ times = 1, ...rule }) {
      const { status, text } = await call('POST', '/test/faults', { ...rule, times })
      if (status !== 200) throw new Error(text)
    },
    async events(payId) {
      const rows = await queryRows<{ body: ToldEvent }>(
        gateway.databaseUrl,
        'SELECT body FROM event WHERE pay_id = $1 ORDER BY sequence',
        [payId],
      )
      return rows.map(({ body: { xId, status, responseCode, sequence } }) => ({
        xId,
        status,
        responseCode,
        sequence,
      }))
    },
  }
}

/** The token of the creation's answer that a confirm must send back, if there is one. */
export function tokenOf(created: { paymentMethods?: { providerK?: { accessToken?: string } } }): object {
  const accessToken = created.paymentMethods?.providerK?.accessToken
  return accessToken === undefined ? {} : { paymentMethods: { providerK: { accessToken } } }
}

export const refused = (responseCode: string) => ({ status: 422, body: { status: 'FAILED', responseCode } })

export const done = (status: string) => ({ status: 200, body: { status, responseCode: '00000000' } })

export const pending = { status: 200, body: { status: 'PENDING', responseCode: '60000200' } }
