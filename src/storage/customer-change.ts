/** What a change may hold about a customer, and how that becomes rows of its parts. */
import type { CustomerId, MerchantId, StoredMethodId } from '#domain/ids.ts'
import type { Customer, CustomerData } from '#lifecycle/customer.ts'

/** The card that an approved payment leaves with its customer, unless it is there already. */
export interface MethodWrite {
  /** Taken only when the card is new to the customer. */
  readonly methodId: StoredMethodId
  readonly type: string
  readonly cardId: string
  readonly last4Digits: string
  readonly brand: string
  readonly expiryDate?: string
  readonly cardHolderName?: string
}

export interface CustomerWrite {
  readonly merchantId: MerchantId
  readonly customerId: CustomerId
  /** Given when nobody is known under the merchant's id yet. */
  readonly birth?: CustomerData & { readonly merchantCustomerId: string; readonly createdAt: Date }
  readonly method?: MethodWrite
  /** In the merchant's time. */
  readonly usedAt: Date
}

export interface CustomerUpdate {
  readonly customer: Customer
  readonly expectedVersion: number
}

/** Undefined members are left out of the JSON and become NULL. */
const fromData = ({ firstName, lastName, email, phone, billingAddress }: CustomerData) => ({
  first_name: firstName,
  last_name: lastName,
  email,
  phone_country: phone?.countryCode,
  phone_number: phone?.number,
  billing_address: billingAddress,
})

export const fromCustomerUpdate = ({ customer, expectedVersion }: CustomerUpdate, c: number) => ({
  c,
  merchant_id: customer.merchantId,
  customer_id: customer.customerId,
  ...fromData(customer),
  updated_at: customer.updatedAt,
  version: customer.version,
  expected_version: expectedVersion,
})

interface CustomerRows {
  readonly customer: unknown[]
  readonly customerUse: unknown[]
  readonly method: unknown[]
  readonly methodUse: unknown[]
}

/** A new customer is written with its card; one that is known is checked, and what was used is dated. */
export function pushCustomer(rows: CustomerRows, write: CustomerWrite, c: number): void {
  const { merchantId, customerId, birth, method, usedAt } = write
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
    rows.customerUse.push({ ...key, used_at: usedAt, alone: method === undefined })
  }
  if (!method) return
  const card = {
    ...key,
    card_id: method.cardId,
    expiry_date: method.expiryDate,
    card_holder_name: method.cardHolderName,
    used_at: usedAt,
  }
  rows.method.push({
    ...card,
    method_id: method.methodId,
    type: method.type,
    last4_digits: method.last4Digits,
    brand: method.brand,
  })
  if (!birth) rows.methodUse.push(card)
}
