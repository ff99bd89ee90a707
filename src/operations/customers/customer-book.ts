/**
 * Resolves the customer of a payment. An approved payment that names a customer finds or creates them, in the commit
 * that approves it. Customers are cached; the commit refuses an outdated entry, and then they are looked up again.
 */
import type { CustomerId, StoredMethodId } from '#domain/ids.ts'
import { chargedCustomer, customerDataOf, isApproval, keepsCard, namedCustomer } from '#lifecycle/customer.ts'
import type { Payment } from '#lifecycle/payment.ts'
import { formOf } from '#methods/offer.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import type { Change } from '#storage/commit/change.ts'
import type { CustomerWrite, MethodWrite } from '#storage/commit/customer-change.ts'
import type { CustomerLookUp, CustomerReader } from '#storage/customers/customers.ts'

/** What is known about the customer of a payment before its outcome is recorded. */
export type KnownCustomer = Payer | Charged

/** A customer who pays. */
interface Payer {
  readonly merchantCustomerId: string
  readonly customerId: CustomerId
  readonly methodId: StoredMethodId
  /** Set for a new customer, who may not be created earlier than this. */
  readonly bornAfter?: Date
  /** The card or account number has been destroyed in the meantime, so the method cannot be stored. */
  readonly withoutCard?: boolean
}

/** A customer who is charged with a stored method. */
interface Charged {
  readonly merchantCustomerId?: undefined
  readonly customerId: CustomerId
}

export interface CustomerBook {
  /** Runs a step that may approve the payment, and runs it again with current data if the customer has changed. */
  resolveCustomer<T>(
    payment: Payment,
    step: (knownCustomer: KnownCustomer | undefined) => Promise<T>,
  ): Promise<T>
}

/** 20,000 ids are a few megabytes and cover the regular customers of a busy shop. */
const rememberedMax = 20_000

/** 50: when many payments create the same customer at once, each round lets at least one of them through. */
const maximumRounds = 50

export function createCustomerBook(deps: {
  customers: Pick<CustomerReader, 'byMerchantCustomerId'>
  newId: () => string
}): CustomerBook {
  const remembered = new Map<string, CustomerId>()

  function remember(name: string, customerId: CustomerId): void {
    if (remembered.size >= rememberedMax) {
      const [oldest] = remembered.keys()
      if (oldest !== undefined) remembered.delete(oldest)
    }
    remembered.set(name, customerId)
  }

  async function identifyCustomer({ merchantId }: Payment, merchantCustomerId: string): Promise<Payer> {
    const name = `${merchantId}\n${merchantCustomerId}`
    const known = remembered.get(name)
    const found: Partial<CustomerLookUp> = known
      ? { customerId: known }
      : await deps.customers.byMerchantCustomerId(merchantId, merchantCustomerId)
    // The two casts below: newId makes 32 hex digits, which is the form of all these ids.
    const methodId = deps.newId() as StoredMethodId
    if (found.customerId) {
      remember(name, found.customerId)
      return { merchantCustomerId, customerId: found.customerId, methodId }
    }
    return {
      merchantCustomerId,
      customerId: deps.newId() as CustomerId,
      methodId,
      bornAfter: found.openSince ?? new Date(0),
    }
  }

  return {
    async resolveCustomer(payment, step) {
      const charged = chargedCustomer(payment)
      if (charged) return resolveCharged(charged, step)
      const named = namedCustomer(payment)
      if (named === undefined) return step(undefined)
      let withoutCard = false
      for (let round = 1; ; round += 1) {
        const knownCustomer = { ...(await identifyCustomer(payment, named)), withoutCard }
        try {
          return await step(knownCustomer)
        } catch (error) {
          const conflict = error instanceof CommitRefused ? error.conflict : undefined
          if (conflict !== 'customer_changed' && conflict !== 'card_gone') throw error
          if (round === maximumRounds) throw error
          remembered.delete(`${payment.merchantId}\n${named}`)
          withoutCard = withoutCard || conflict === 'card_gone'
        }
      }
    },
  }
}

/** A customer who was deleted while the charge was under way is not created again. */
async function resolveCharged<T>(
  customerId: CustomerId,
  step: (knownCustomer: KnownCustomer | undefined) => Promise<T>,
): Promise<T> {
  try {
    return await step({ customerId })
  } catch (error) {
    if (error instanceof CommitRefused && error.conflict === 'customer_changed') return step(undefined)
    throw error
  }
}

/** The payment with its customer, and the rows to write for them; both only if the payment was approved. */
export function joinCustomer(
  before: Payment,
  after: Payment,
  knownCustomer: KnownCustomer | undefined,
  now: Date,
): { readonly payment: Payment; readonly alongside: Pick<Change, 'customer'> } {
  const isJoined = knownCustomer && !after.customerId && isApproval(before, after)
  const customer = isJoined && writeCustomer(after, knownCustomer, now)
  if (!customer) return { payment: after, alongside: {} }
  return { payment: { ...after, customerId: customer.customerId }, alongside: { customer } }
}

function writeCustomer(payment: Payment, knownCustomer: KnownCustomer, now: Date): CustomerWrite | undefined {
  const { merchantId } = payment
  const { customerId, merchantCustomerId } = knownCustomer
  if (merchantCustomerId === undefined) {
    const charged = payment.instrument?.cardId ?? payment.account?.accountId
    return { merchantId, customerId, charged, usedAt: now }
  }
  const { bornAfter, withoutCard, methodId } = knownCustomer
  const method = withoutCard ? undefined : methodOf(payment, methodId)
  if (!bornAfter) return { merchantId, customerId, method, usedAt: now }
  const data = customerDataOf(payment)
  const createdAt = new Date(Math.max(now.getTime(), bornAfter.getTime()))
  return (
    data && {
      merchantId,
      customerId,
      birth: { ...data, merchantCustomerId, createdAt },
      method,
      usedAt: createdAt,
    }
  )
}

const methodOf = (payment: Payment, methodId: StoredMethodId): MethodWrite | undefined =>
  toMethod(payment, methodId) ?? toAccountMethod(payment, methodId)

function toAccountMethod({ method, account }: Payment, methodId: StoredMethodId): MethodWrite | undefined {
  if (!account) return undefined
  const { accountId, last4Digits, accountHolderName } = account
  const isDebited = formOf(method) === 'account'
  return { methodId, type: method.type, accountId, last4Digits, accountHolderName, isDebited }
}

function toMethod(payment: Payment, methodId: StoredMethodId): MethodWrite | undefined {
  const { method, instrument } = payment
  if (!instrument || !keepsCard(payment)) return undefined
  const { cardId, last4Digits, brand, expiryDate, cardHolderName } = instrument
  return { methodId, type: method.type, cardId, last4Digits, brand, expiryDate, cardHolderName }
}
