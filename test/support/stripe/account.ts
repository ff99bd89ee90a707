/** A gateway whose merchant has an account at the double of Stripe. */
import { stripe } from '#connectors/stripe/connector.ts'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '#test/support/gateway.ts'
import { addProviderAccount } from '#test/support/providers/provider-account.ts'
import { StripeDouble } from '#test/support/stripe/double.ts'

export interface StripeShop {
  readonly gateway: TestGateway
  readonly double: StripeDouble
  readonly accountId: string
  readonly noticeUrl: string
  stop(): Promise<void>
}

const keys = { secretKey: 'sk_test_double', webhookSecret: 'whsec_double' }

export async function openStripeShop(
  options: TestGatewayOptions & { readonly settings?: Readonly<Record<string, string>> } = {},
): Promise<StripeShop> {
  const double = await StripeDouble.start(keys)
  const gateway = await startTestGateway(options)
  const settings = { baseUrl: double.origin, ...options.settings }
  const accountId = await addProviderAccount(gateway, stripe, { settings, secrets: keys })
  return {
    gateway,
    double,
    accountId,
    noticeUrl: `${gateway.url}/providers/${accountId}/notices`,
    async stop() {
      await gateway.stop()
      await double.stop()
    },
  }
}
