/** What the customer's page offers: the methods that fit the payment and that an account of the merchant can take. */
import { narrowMethod } from '#connectors/capabilities.ts'
import type { OpenedAccount } from '#connectors/directory.ts'
import type { Merchant } from '#domain/merchant.ts'
import { offerFor } from '#lifecycle/attempt.ts'
import type { Payment } from '#lifecycle/payment.ts'
import { formOf, type MethodForm } from '#methods/offer.ts'
import type { Method } from '#methods/rows.ts'
import type { Engine } from '#operations/engine.ts'
import { chooseAccount } from '#operations/payments/choose-account.ts'

export interface OfferedMethod {
  readonly method: Method
  readonly account: OpenedAccount
  /** What the customer fills in on our page. None where the provider's page asks for the card. */
  readonly form: MethodForm
  /** What the account calls it, where it has a name of its own. */
  readonly label?: string
}

export async function offerMethods(
  payment: Payment,
  merchant: Merchant,
  engine: Pick<Engine, 'providers'>,
): Promise<readonly OfferedMethod[]> {
  const found = await Promise.all(
    offerFor(payment, merchant.methods).map(async method => {
      const choice = await chooseAccount({ ...payment, merchant, method }, engine)
      return choice.account ? [toOffered(method, choice.account)] : []
    }),
  )
  return found.flat()
}

function toOffered(method: Method, account: OpenedAccount): OfferedMethod {
  const form = formOf(method)
  const isTheirs = form === 'card' && account.connector.supports(method)?.rawCards === false
  return { method, account, form: isTheirs ? 'none' : form, label: account.label(method.type) }
}

/**
 * The catalogue as far as the merchant's accounts can serve it, for lists that know no amount yet. A method is what the
 * first account that takes it can do. Without accounts the rows are returned as they are.
 */
export async function servedMethods(
  methods: readonly Method[],
  { merchantId }: Pick<Merchant, 'merchantId'>,
  { providers }: Pick<Engine, 'providers'>,
): Promise<readonly Method[]> {
  const accounts = await providers.enabled(merchantId)
  const [first] = accounts
  // Nobody takes anything in a live installation without accounts, and the catalogue is still what may be integrated.
  if (!first || first.accountId === undefined) return methods
  return methods.flatMap(method => {
    const can = accounts.map(({ connector }) => connector.supports(method)).find(Boolean)
    if (!can) return []
    const narrow = narrowMethod(method, can)
    const integration =
      can.rawCards || formOf(method) !== 'card'
        ? method.integration
        : method.integration.filter(type => type === 'HOSTED')
    return [{ ...narrow, integration }]
  })
}
