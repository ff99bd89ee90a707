/** Reading, changing and deleting customers and their stored methods, as the contract shows them. */
import type { CustomerId, StoredMethodId } from '#domain/ids.ts'
import type { Merchant } from '#domain/merchant.ts'
import { type Customer, isStoredCard, patchCustomer, type StoredMethod } from '#lifecycle/customer.ts'
import { erasePaymentsOf } from '#operations/customers/erase-payments.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { keyRow, type OperationKey } from '#operations/key.ts'
import type { OperationAnswer } from '#operations/payments/answer.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import { type CustomerPatch, pageSize } from '#schemas/customer.ts'
import type { CustomerDeletion } from '#storage/customers/customer-deletion.ts'
import type { CustomerConditions, CustomerPages } from '#storage/customers/customer-pages.ts'
import type { CustomerReader } from '#storage/customers/customers.ts'

export interface CustomerVault extends CustomerReader, CustomerPages, CustomerDeletion {}

/** The contract writes these times without a zone; they are UTC. */
const toMoment = (time: Date): string => time.toISOString().slice(0, -1)

const toItem = (customer: Customer) => ({
  id: customer.customerId,
  merchantCustomerId: customer.merchantCustomerId,
  firstName: customer.firstName,
  lastName: customer.lastName,
  email: customer.email,
  phone: customer.phone,
  scope: 'MERCHANT',
  createdAt: toMoment(customer.createdAt),
  updatedAt: toMoment(customer.updatedAt),
})

const toDetail = (customer: Customer) => ({
  ...toItem(customer),
  billingAddress: customer.billingAddress,
  lastUsedAt: toMoment(customer.lastUsedAt),
})

const toHeld = (method: StoredMethod) =>
  isStoredCard(method)
    ? {
        pseudoCardNumber: method.pseudoCardNumber,
        cardHolderName: method.cardHolderName,
        brand: method.brand,
        expiryDate: method.expiryDate,
      }
    : {
        pseudoBankAccountNumber: method.pseudoBankAccountNumber,
        accountHolderName: method.accountHolderName,
      }

const toMethodItem = (method: StoredMethod) => ({
  id: method.methodId,
  type: method.type,
  last4Digits: method.last4Digits,
  ...toHeld(method),
  createdAt: toMoment(method.createdAt),
  updatedAt: toMoment(method.updatedAt),
  lastUsedAt: toMoment(method.lastUsedAt),
})

export async function listCustomers(
  merchant: Merchant,
  { page, conditions }: { page: number; conditions: CustomerConditions },
  vault: CustomerVault,
) {
  const { total, customers } = await vault.read(merchant.merchantId, page, conditions)
  return {
    totalNumberOfPages: Math.ceil(total / pageSize),
    totalNumberOfItems: total,
    page,
    pageSize,
    data: customers.map(toItem),
  }
}

/** Undefined, here and below: the merchant has no such customer. */
export async function getCustomer(merchant: Merchant, customerId: CustomerId, vault: CustomerVault) {
  const customer = await vault.find(merchant.merchantId, customerId)
  return customer && toDetail(customer)
}

export async function listStoredMethods(merchant: Merchant, customerId: CustomerId, vault: CustomerVault) {
  const methods = await vault.listMethods(merchant.merchantId, customerId)
  return methods && { gatewayCustomerId: customerId, data: methods.map(toMethodItem) }
}

export interface MethodPath {
  readonly customerId: CustomerId
  readonly methodId: StoredMethodId
}

export async function getStoredMethod(
  merchant: Merchant,
  { customerId, methodId }: MethodPath,
  vault: CustomerVault,
) {
  const method = await vault.findMethod(merchant.merchantId, customerId, methodId)
  return method && { ...toMethodItem(method), gatewayCustomerId: customerId }
}

export interface CustomerChange {
  readonly merchant: Merchant
  readonly customerId: CustomerId
  readonly patch: CustomerPatch
  readonly key?: OperationKey
}

type Deps = Pick<Engine, 'commit' | 'clock' | 'vault'> & { readonly customers: CustomerVault }

/** 50: when a customer is changed by many requests at once, each round lets at least one of them through. */
const maximumRounds = 50

/** Writes the change and its idempotency key in one commit, which fails if the customer's version has changed. */
export async function changeCustomer(
  { merchant, customerId, patch, key }: CustomerChange,
  { commit, clock, customers }: Deps,
): Promise<OperationAnswer | undefined> {
  for (let round = 0; round < maximumRounds; round += 1) {
    const customer = await customers.find(merchant.merchantId, customerId)
    if (!customer) return undefined
    const now = merchantNow(clock, merchant)
    const changed = patchCustomer(customer, patch, now)
    const answer = { status: 200, json: JSON.stringify(toDetail(changed)) }
    const committed = await commit({
      updateCustomer: { customer: changed, expectedVersion: customer.version },
      key: keyRow(key, { merchant, answer, now }),
    })
    if (committed.committed) return answer
    if (committed.conflict !== 'customer_changed') throw new CommitRefused(committed.conflict)
  }
  throw new Error(
    `customer ${customerId} was changed by others in each of ${maximumRounds} tries to write it`,
  )
}

export async function deleteCustomer(
  merchant: Merchant,
  customerId: CustomerId,
  deps: Deps & Pick<Engine, 'erasure'>,
  { erasesPayments = false } = {},
) {
  const { merchantId } = merchant
  if (erasesPayments) await erasePaymentsOf(merchant, customerId, deps.erasure)
  const deleted = await deps.customers.deleteCustomer(merchantId, customerId)
  for (const id of deleted?.forgotten ?? []) deps.vault.forget(merchantId, id)
  return deleted && { id: customerId, deleted: true }
}

export async function deleteStoredMethod(
  merchant: Merchant,
  { customerId, methodId }: MethodPath,
  deps: Deps,
) {
  const { merchantId } = merchant
  const deleted = await deps.customers.deleteMethod(merchantId, customerId, methodId)
  for (const id of deleted?.forgotten ?? []) deps.vault.forget(merchantId, id)
  return deleted && { id: methodId, deleted: true }
}
