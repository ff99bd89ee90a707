/** Payment intents as a shop and its app use them: the server prepares, the app confirms with an access token. */
import { startTestGateway, type TestAnswer, type TestGateway } from '#test/support/gateway.ts'
import { methodPayment, openShop, type ServedType, type Shop } from '#test/support/shop.ts'

/** The body of a confirmation by each method; it is approved unless the changes of the card say otherwise. */
export function confirmation(type: ServedType, card: object = {}): Record<string, unknown> {
  if (type === 'PROVIDERM') return walletConfirmation('{"version":"EC_v1","data":"AAAA"}')
  return methodPayment(type, { card }).paymentMethods as Record<string, unknown>
}

export const walletConfirmation = (token: unknown): Record<string, unknown> => ({
  integrationType: 'DIRECT',
  type: 'PROVIDERM',
  providerM: { merchantIdentifierOfPublicKey: 'merchant.example.shop', token },
})

export const eur = (value: number) => ({ value, currency: 'EUR' })

export interface IntentShop {
  prepare(request?: object, headers?: Record<string, string>): Promise<TestAnswer>
  /** As prepare; the id of an intent over 10.00 EUR unless the request says otherwise. */
  intent(request?: object): Promise<string>
  confirm(id: string, body: unknown, headers?: Record<string, string>): Promise<TestAnswer>
  /** The header that opens the confirmation of that intent. */
  bearer(id: string): Promise<{ authorization: string }>
}

export function openIntents(
  { call, merchantId, apiKey }: Pick<Shop, 'call' | 'merchantId' | 'apiKey'>,
  gateway: Pick<TestGateway, 'call'>,
): IntentShop {
  const prepare: IntentShop['prepare'] = (request = {}, headers) =>
    call('POST', '/payment-intents', request, headers)
  return {
    prepare,
    async intent(request = {}) {
      const { status, body, text } = await prepare({ amount: eur(1000), ...request })
      if (status !== 201) throw new Error(text)
      return body.id
    },
    confirm: (id, body, headers) => call('POST', `/payment-intents/${id}/confirm`, body, headers),
    async bearer(id) {
      const { body } = await askToken(gateway, { merchantId, apiKey, id })
      return { authorization: `Bearer ${body.access_token}` }
    },
  }
}

export interface IntentStage {
  readonly gateway: TestGateway
  readonly shop: Shop
  readonly intents: IntentShop
}

/** A gateway of its own with a shop that prepares intents. */
export async function openIntentStage(
  options: Parameters<typeof startTestGateway>[0] = {},
): Promise<IntentStage> {
  const gateway = await startTestGateway(options)
  const shop = await openShop(gateway)
  return { gateway, shop, intents: openIntents(shop, gateway) }
}

export const askToken = (
  gateway: Pick<TestGateway, 'call'>,
  { merchantId, apiKey, id }: { merchantId: string; apiKey: string; id: string },
): Promise<TestAnswer> =>
  gateway.call(
    'POST',
    '/authorization/oauth/token',
    new URLSearchParams({
      grant_type: 'payment_intents',
      client_id: merchantId,
      client_secret: apiKey,
      payment_intent_id: id,
    }).toString(),
    { 'content-type': 'application/x-www-form-urlencoded' },
  )
