/** Chooses the merchant's provider account for a payment: once, before the payment or the try is stored. */
import { findAmountMisfit, narrowMethod } from '#connectors/capabilities.ts'
import type { OpenedAccount } from '#connectors/directory.ts'
import { findCountryByAlpha3 } from '#domain/countries.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Money } from '#domain/money/money.ts'
import type { Refusal } from '#domain/response-codes.ts'
import type { SentDetails } from '#lifecycle/details.ts'
import type { Payment, PaymentProvider } from '#lifecycle/payment.ts'
import { findCountry } from '#methods/catalogue.ts'
import { undecided } from '#methods/method.ts'
import { formOf } from '#methods/offer.ts'
import type { CaptureType, Method } from '#methods/rows.ts'
import type { Engine } from '#operations/engine.ts'

export interface Choosing {
  readonly merchant: Pick<Merchant, 'merchantId'>
  readonly method: Method
  readonly amount: Money
  readonly brand?: string
  readonly details: SentDetails
  readonly captureType?: CaptureType
  /** The request to the provider will hold a card number. */
  readonly sendsCard?: boolean
  readonly isCredit?: boolean
  /** The customer agrees to be charged again, so the account must keep the card or bank account. */
  readonly isKept?: boolean
  /** The merchant confirms after the customer. */
  readonly confirmsLater?: boolean
  /** Consider only accounts that can express the amount. Otherwise the caller checks the chosen account. */
  readonly fitsAmount?: boolean
  /** The account that stores the card or bank account; no other one could charge it. */
  readonly keptBy?: string
  /** The country of the plan's first payment, three letters. A charge of the plan has no address of its own. */
  readonly planCountry?: string
}

export type Choice =
  | { readonly account: OpenedAccount; readonly others: readonly OpenedAccount[] }
  | { readonly account?: undefined; readonly refusal: Refusal }

/**
 * The first account of the route that supports the payment, and those to fail over to if it certainly was not reached.
 */
export async function chooseAccount(
  choosing: Choosing,
  { providers }: Pick<Engine, 'providers'>,
): Promise<Choice> {
  const { merchant, method, amount, brand } = choosing
  const found =
    method === undecided || choosing.keptBy !== undefined
      ? await providers.enabled(merchant.merchantId)
      : await providers.candidates(merchant.merchantId, {
          method,
          brand,
          amount,
          country: countryOf(choosing),
        })
  return choose(found, choosing)
}

function choose(all: readonly OpenedAccount[], choosing: Choosing): Choice {
  const { method, keptBy } = choosing
  const found = keptBy === undefined ? all : all.filter(({ accountId }) => accountId === keptBy)
  const [first] = found
  if (!first) return { refusal: 'NO_CONNECTOR' }
  if (method === undecided || isSimulatorOfToday(first)) {
    const lacks = choosing.isCredit && !first.connector.credit
    return lacks ? { refusal: 'NO_CONNECTOR' } : { account: first, others: [] }
  }
  const serving = found.filter(account => serves(account, choosing))
  const [account, ...others] = serving.filter(
    candidate =>
      canDo(candidate.connector, choosing) &&
      !(choosing.fitsAmount && amountMisfit(candidate, choosing.amount)),
  )
  if (account) return { account, others }
  return { refusal: serving.length > 0 ? 'METHOD_LACKS_OPERATION' : 'NO_CONNECTOR' }
}

function countryOf({ details, planCountry }: Choosing): string | undefined {
  const country = findCountry(details)?.code ?? planCountry
  return country === undefined ? undefined : findCountryByAlpha3(country)?.alpha2
}

/** Whether this is the simulator of a merchant without accounts; it supports whatever the method's row says. */
const isSimulatorOfToday = ({ accountId }: OpenedAccount): boolean => accountId === undefined

const serves = ({ connector }: OpenedAccount, { method, amount }: Choosing): boolean =>
  connector.supports(method) !== undefined && connector.facts.exponent(amount.currency) !== undefined

function canDo(
  connector: OpenedAccount['connector'],
  { method, captureType, sendsCard, isCredit, isKept, confirmsLater }: Choosing,
): boolean {
  const can = connector.supports(method)
  if (!can || (sendsCard && !can.rawCards) || (isKept && !can.storedCredentials)) return false
  if (confirmsLater && !can.confirm && !(method.flow === 'direct' && can.rawCards)) return false
  if (isCredit) return can.credit && connector.credit !== undefined
  return captureType === undefined || narrowMethod(method, can).capture.includes(captureType)
}

/** Whether the provider asks for the card on its own page, because the account accepts no card numbers from us. */
export const takesCardItself = ({ connector }: OpenedAccount, method: Method): boolean =>
  formOf(method) === 'card' && connector.supports(method)?.rawCards === false

/** Whether the provider supports a confirm; the simulator of a merchant without accounts does. */
export const hasConfirm = ({ accountId, connector }: OpenedAccount, method: Method): boolean =>
  accountId === undefined || connector.supports(method)?.confirm === true

/** The account as it is stored with the payment and shown in its record. */
export const providerOf = ({ accountId, connectorName }: OpenedAccount): PaymentProvider | undefined =>
  accountId === undefined ? undefined : { account: accountId, connector: connectorName }

/** The payment with its method narrowed to the account's capabilities, for the rules to decide on. */
export function narrowed(payment: Payment, { accountId, connector }: OpenedAccount): Payment {
  if (accountId === undefined) return payment
  const can = connector.supports(payment.method)
  return can ? { ...payment, method: narrowMethod(payment.method, can) } : payment
}

export const amountMisfit = ({ connector }: OpenedAccount, amount: Money) =>
  findAmountMisfit(connector.facts, amount)
