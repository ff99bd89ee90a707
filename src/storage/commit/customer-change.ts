/** The members of a change that concern a customer, and their conversion to rows. */
import type { CustomerId, MerchantId, StoredMethodId } from '#domain/ids.ts'
import type { Customer, CustomerData } from '#lifecycle/customer.ts'
import type { BatchRow } from '#storage/commit/columns.ts'
import type { customerParts } from '#storage/commit/customer-parts.ts'

/** The card or account that an approved payment stores for its customer, unless it is already stored. */
export type MethodWrite = {
  /** Used only if the card or account is new to the customer. */
  readonly methodId: StoredMethodId
  readonly type: string
  readonly last4Digits: string
} & (CardMethod | AccountMethod)

interface CardMethod {
  readonly cardId: string
  readonly brand: string
  readonly expiryDate?: string
  readonly cardHolderName?: string
}

interface AccountMethod {
  readonly cardId?: undefined
  readonly accountId: string
  readonly accountHolderName?: string
  /** The customer has given a mandate; the account of a transfer only says who paid. */
  readonly isDebited: boolean
}

export interface CustomerWrite {
  readonly merchantId: MerchantId
  readonly customerId: CustomerId
  /** Set if the merchant's customer id is new. */
  readonly birth?: CustomerData & { readonly merchantCustomerId: string; readonly createdAt: Date }
  readonly method?: MethodWrite
  /** The stored card or account that was charged. Only its last use is updated; it is never stored again. */
  readonly charged?: string
  /** In the merchant's time. */
  readonly usedAt: Date
}

export interface CustomerUpdate {
  readonly customer: Customer
  readonly expectedVersion: number
}

type Row<Part extends keyof typeof customerParts> = BatchRow<(typeof customerParts)[Part]['columns']>

const fromData = ({ firstName, lastName, email, phone, billingAddress }: CustomerData) => ({
  first_name: firstName,
  last_name: lastName,
  email,
  phone_country: phone?.countryCode,
  phone_number: phone?.number,
  billing_address: billingAddress,
})

export const fromCustomerUpdate = (
  { customer, expectedVersion }: CustomerUpdate,
  c: number,
): Row<'customerUpdate'> => ({
  c,
  merchant_id: customer.merchantId,
  customer_id: customer.customerId,
  ...fromData(customer),
  updated_at: customer.updatedAt,
  version: customer.version,
  expected_version: expectedVersion,
})

interface CustomerRows {
  readonly customer: Row<'customer'>[]
  readonly customerUse: Row<'customerUse'>[]
  readonly method: Row<'method'>[]
  readonly methodUse: Row<'methodUse'>[]
}

/** Stores a new customer with their card or account; updates the last use of a known one. */
export function pushCustomer(rows: CustomerRows, write: CustomerWrite, c: number): void {
  const { merchantId, customerId, birth, method, charged, usedAt } = write
  const key = { c, merchant_id: merchantId, customer_id: customerId }
  if (birth) {
    const { merchantCustomerId, createdAt } = birth
    rows.customer.push({
      ...key,
      merchant_customer_id: merchantCustomerId,
      ...fromData(birth),
      created_at: createdAt,
    })
  } else {
    rows.customerUse.push({ ...key, used_at: usedAt, alone: (method ?? charged) === undefined })
  }
  if (charged !== undefined)
    rows.methodUse.push({ ...key, ...nothingHeld, held_id: charged, used_at: usedAt })
  if (!method) return
  const used = { ...key, ...heldBy(method), used_at: usedAt }
  rows.method.push({
    ...used,
    method_id: method.methodId,
    type: method.type,
    last4_digits: method.last4Digits,
    brand: method.cardId === undefined ? undefined : method.brand,
  })
  if (!birth) rows.methodUse.push(used)
}

const nothingHeld = {
  card_id: undefined,
  account_id: undefined,
  held_id: undefined,
  type: undefined,
  expiry_date: undefined,
  card_holder_name: undefined,
  account_holder_name: undefined,
}

const heldBy = (
  method: MethodWrite,
): Omit<Row<'methodUse'>, 'c' | 'merchant_id' | 'customer_id' | 'used_at'> =>
  method.cardId === undefined
    ? {
        ...nothingHeld,
        account_id: method.accountId,
        held_id: method.accountId,
        // An account that was stored with the type of a transfer can be charged once it was debited.
        type: method.isDebited ? method.type : undefined,
        account_holder_name: method.accountHolderName,
      }
    : {
        ...nothingHeld,
        card_id: method.cardId,
        held_id: method.cardId,
        expiry_date: method.expiryDate,
        card_holder_name: method.cardHolderName,
      }
