/** Reads payment plans and their payments. Every query is scoped by merchant. */
import type { CustomerId, MerchantId, PayId, PlanId, StoredMethodId } from '#domain/ids.ts'
import { entriesOf } from '#domain/json.ts'
import type { AccountInstrument, Instrument, Payment, PaymentStatus } from '#lifecycle/payment.ts'
import type { ChargedMethod, Plan, PlanHistory, PlanStatus, RecurringTerms } from '#lifecycle/plans/plan.ts'
import { pageSize } from '#schemas/customer.ts'
import type { Database } from '#storage/database.ts'
import { gatherLookUps, wantedRows, wantedValues } from '#storage/gather.ts'
import { byOtherIndex, lookUp } from '#storage/planner.ts'
import { createPlanPaymentReader, type Page, type PlanPaymentReader } from '#storage/plans/plan-payments.ts'

export interface PlanConditions {
  readonly status?: PlanStatus
  readonly type?: string
  readonly customerId?: CustomerId
  /** Instants: from inclusive, to exclusive. */
  readonly createdFrom?: Date
  readonly createdBefore?: Date
}

export type PlanEntry = Plan & PlanHistory

/** A plan with the data that a charge needs, such as method and account of the initial payment. */
export interface ChargeablePlan {
  readonly plan: Plan
  readonly method: string
  readonly captureMethod: Payment['captureMethod']
  readonly webhook?: string
  /** The country of the initial payment, three letters. */
  readonly country?: string
  /** Absent if the plan is charged without a card, or the card's number was deleted. */
  readonly card?: { readonly cardId: string; readonly expiryDate?: string; readonly cardHolderName?: string }
  readonly account?: AccountInstrument
  /** The stored card or account, its number or its customer was deleted, so it must not be charged, even if other data of it remain. */
  readonly methodDeleted?: boolean
  /** The provider account that stores the card or account, and its token for it. */
  readonly atProvider?: { readonly account: string; readonly token: string }
}

export interface PlanReader extends PlanPaymentReader {
  find(merchantId: MerchantId, planId: PlanId): Promise<PlanEntry | undefined>
  findChargeable(merchantId: MerchantId, planId: PlanId): Promise<ChargeablePlan | undefined>
  list(merchantId: MerchantId, page: number, conditions: PlanConditions): Promise<Page<PlanEntry>>
  /** The scheme's reference of the agreement under which this card of the customer was last stored. */
  findSchemeReference(
    merchantId: MerchantId,
    customerId: CustomerId,
    cardId: string,
  ): Promise<string | undefined>
}

interface PlanRow {
  merchant_id: MerchantId
  plan_id: PlanId
  initial_pay_id: PayId
  type: Plan['type']
  status: PlanStatus
  currency: string
  amount: number
  recurring: RecurringTerms | null
  customer_id: CustomerId | null
  merchant_customer_id: string | null
  method_id: StoredMethodId | null
  card_id: string | null
  scheme_reference_id: string | null
  charged_method: string | null
  charged_account: ChargedMethod['account'] | null
  began_on: string | null
  next_payment_date: string | null
  asked_on: string | null
  paid_until: string | null
  charging_pay_id: PayId | null
  tries: number
  metadata: Record<string, unknown> | null
  created_at: Date
  updated_at: Date
  cancelled_at: Date | null
  cancellation_reason: string | null
  version: number
}

/** The condition that a pending plan ended with its failed initial payment. */
const abandoned = `(pl.status = 'PENDING' AND p.status = 'FAILED')`
const shownStatus = `CASE WHEN ${abandoned} THEN 'CANCELLED' ELSE pl.status END`

const columns = `pl.merchant_id, pl.plan_id, pl.initial_pay_id, pl.type, ${shownStatus} AS status, pl.currency, pl.amount,
  pl.recurring, pl.customer_id, pl.merchant_customer_id, coalesce(m.method_id, pl.ended_method_id) AS method_id, pl.card_id,
  pl.scheme_reference_id, pl.charged_method, pl.charged_account, pl.began_on::text, pl.next_payment_date::text, pl.asked_on::text,
  pl.paid_until::text, pl.charging_pay_id, pl.tries, pl.metadata, pl.created_at,
  CASE WHEN ${abandoned} THEN p.updated_at ELSE pl.updated_at END AS updated_at,
  CASE WHEN ${abandoned} THEN p.updated_at ELSE pl.cancelled_at END AS cancelled_at,
  CASE WHEN ${abandoned} THEN 'The initial payment failed.' ELSE pl.cancellation_reason END AS cancellation_reason,
  pl.version`

const withInitial = `JOIN payment p ON p.merchant_id = pl.merchant_id AND p.pay_id = pl.initial_pay_id`
/** The account of the initial payment until the plan is moved to another method. */
const accountId = `CASE WHEN pl.charged_method IS NULL THEN p.account_id ELSE (pl.charged_account ->> 'accountId')::uuid END`
const withMethod = `LEFT JOIN stored_method m ON m.merchant_id = pl.merchant_id AND m.customer_id = pl.customer_id
  AND (m.card_id = pl.card_id OR m.account_id = ${accountId})`

const toPlan = (row: PlanRow): Plan => ({
  merchantId: row.merchant_id,
  planId: row.plan_id,
  initialPayId: row.initial_pay_id,
  type: row.type,
  status: row.status,
  amount: { value: row.amount, currency: row.currency },
  recurring: row.recurring ?? undefined,
  customerId: row.customer_id ?? undefined,
  merchantCustomerId: row.merchant_customer_id ?? undefined,
  methodId: row.method_id ?? undefined,
  cardId: row.card_id ?? undefined,
  schemeReferenceId: row.scheme_reference_id ?? undefined,
  charged: row.charged_method
    ? { type: row.charged_method, ...(row.charged_account ? { account: row.charged_account } : {}) }
    : undefined,
  beganOn: row.began_on ?? undefined,
  nextPaymentDate: row.next_payment_date ?? undefined,
  askedOn: row.asked_on ?? undefined,
  paidUntil: row.paid_until ?? undefined,
  chargingPayId: row.charging_pay_id ?? undefined,
  tries: row.tries,
  metadata: row.metadata ?? undefined,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  cancelledAt: row.cancelled_at ?? undefined,
  cancellationReason: row.cancellation_reason ?? undefined,
  version: row.version,
})

interface HistoryRow {
  payments: number
  last_pay_id: PayId | null
  last_status: PaymentStatus | null
  last_response_code: string | null
  last_created_at: Date | null
}

/** A payId begins with its time, so the greatest is the newest. A reversed payment counts, because it was approved. */
const withHistory = `LEFT JOIN LATERAL (SELECT count(*) AS payments FROM payment a WHERE a.plan_id = pl.plan_id
    AND ${byOtherIndex('a.merchant_id')} = pl.merchant_id AND a.status IN ('AUTHORIZED', 'CAPTURE_REQUEST', 'OK', 'REVERSED')) made ON true
  LEFT JOIN LATERAL (SELECT l.pay_id AS last_pay_id, l.status AS last_status, l.created_at AS last_created_at,
      (SELECT o.response_code FROM operation o WHERE o.merchant_id = l.merchant_id AND o.pay_id = l.pay_id
       ORDER BY o.sequence DESC LIMIT 1) AS last_response_code
    FROM payment l WHERE l.plan_id = pl.plan_id AND ${byOtherIndex('l.merchant_id')} = pl.merchant_id
    ORDER BY l.pay_id DESC LIMIT 1) last ON true`

const historyColumns =
  'made.payments, last.last_pay_id, last.last_status, last.last_response_code, last.last_created_at'

function toEntry(row: PlanRow & HistoryRow): PlanEntry {
  const { last_pay_id: payId, last_status: status, last_response_code: code, last_created_at: at } = row
  return {
    ...toPlan(row),
    numberOfPayments: row.payments,
    lastPayment:
      payId && status && code && at ? { payId, status, responseCode: code, createdAt: at } : undefined,
  }
}

interface ChargeableRow extends PlanRow {
  method: string
  capture_method: Payment['captureMethod']['type']
  delayed_hours: number | null
  webhook: string | null
  country: string | null
  instrument: Instrument | null
  instrument_card_id: string | null
  vault_expiry_date: string | null
  stored_expiry_date: string | null
  stored_holder_name: string | null
  stored_last4_digits: string | null
  account_holder_name: string | null
  account: AccountInstrument | null
  method_deleted: boolean
  provider_account: string | null
  provider_token: string | null
}

/**
 * The expiry date of the stored card takes precedence over that of the initial payment, which counts if that was the
 * same card and the account updater has not renewed it.
 */
function toChargeable(row: ChargeableRow): ChargeablePlan {
  const plan = toPlan(row)
  const isFirstCard = plan.charged === undefined && row.instrument_card_id === row.card_id
  const dateBefore = isFirstCard ? row.instrument?.expiryDate : (row.vault_expiry_date ?? undefined)
  return {
    plan,
    method: plan.charged?.type ?? row.method,
    captureMethod: { type: row.capture_method, delayedHours: row.delayed_hours ?? undefined },
    webhook: row.webhook ?? undefined,
    country: row.country ?? undefined,
    card:
      plan.cardId === undefined
        ? undefined
        : {
            cardId: plan.cardId,
            expiryDate: row.stored_expiry_date ?? dateBefore,
            cardHolderName: row.stored_holder_name ?? row.instrument?.cardHolderName,
          },
    account: toAccount(row, plan),
    methodDeleted: row.method_deleted,
    atProvider:
      plan.charged || row.provider_account === null || row.provider_token === null
        ? undefined
        : { account: row.provider_account, token: row.provider_token },
  }
}

/** The account of the initial payment, or the stored one that the plan was moved to; none after a move to a card. */
function toAccount(row: ChargeableRow, { charged }: Plan): AccountInstrument | undefined {
  const storedName = row.account_holder_name ?? undefined
  // The retention period erases the holder's name from the initial payment, but the stored account keeps it.
  if (!charged)
    return row.account
      ? { ...row.account, accountHolderName: row.account.accountHolderName ?? storedName }
      : undefined
  return (
    charged.account && {
      ...charged.account,
      last4Digits: row.stored_last4_digits ?? '',
      accountHolderName: storedName,
    }
  )
}

/** The provider's token for a plan that began on a provider's page: the provider stores the card or account. */
const providerToken = `CASE WHEN p.provider_account IS NOT NULL AND pl.card_id IS NULL THEN
  (SELECT o.provider->>'providerToken' FROM operation o WHERE o.merchant_id = p.merchant_id AND o.pay_id = p.pay_id
   AND o.provider->>'providerToken' IS NOT NULL LIMIT 1) END`

/** The number was destroyed, or is kept for one waiting payment only. */
const isForgotten = (vault: string): string =>
  `(${vault}.merchant_id IS NOT NULL AND (${vault}.sealed IS NULL OR ${vault}.delete_after_use_at IS NOT NULL))`

/** What a wallet or a provider charges is not stored here: permission to charge it ends with the customer. */
const methodDeleted = `(pl.ended_method_id IS NOT NULL AND m.method_id IS NULL OR ${isForgotten('v')} OR ${isForgotten('va')}
  OR pl.customer_id IS NOT NULL AND NOT EXISTS ${lookUp(
    'SELECT 1 FROM customer c WHERE c.merchant_id = pl.merchant_id AND c.customer_id = pl.customer_id',
  )})`

const comparisons: Readonly<Record<keyof PlanConditions, string>> = {
  status: `${shownStatus} = ?`,
  type: 'pl.type = ?',
  customerId: 'pl.customer_id = ?',
  createdFrom: 'pl.created_at >= ?',
  createdBefore: 'pl.created_at < ?',
}

export function createPlanReader({ readers, lists, lookUps }: Database): PlanReader {
  const lookUpChargeable = gatherLookUps<ChargeableRow>(
    async wanted => {
      const { rows } = await lookUps.query<ChargeableRow>({
        name: 'plans_to_charge',
        // Starts from the wanted keys, so that each plan is read by its key regardless of statistics.
        text: `SELECT ${columns}, p.method, p.capture_method, p.delayed_hours, p.instrument, p.account,
                 p.details->'urls'->>'webhook' AS webhook, p.card_id AS instrument_card_id,
                 coalesce(p.details->'billingAddress'->>'country', p.details->'shipping'->'address'->>'country') AS country,
                 v.expiry_date AS vault_expiry_date, m.expiry_date AS stored_expiry_date,
                 m.card_holder_name AS stored_holder_name, m.last4_digits AS stored_last4_digits,
                 m.account_holder_name, ${methodDeleted} AS method_deleted, p.provider_account, ${providerToken} AS provider_token
               FROM ${wantedRows} CROSS JOIN LATERAL ${lookUp(`SELECT * FROM payment_plan pl
                 WHERE pl.merchant_id = w.merchant_id AND pl.plan_id = w.id`)} pl
               ${withInitial} ${withMethod}
               LEFT JOIN vault_card v ON v.merchant_id = pl.merchant_id AND v.card_id = pl.card_id
               LEFT JOIN vault_account va ON va.merchant_id = pl.merchant_id AND va.account_id = ${accountId}`,
        values: wantedValues(wanted),
      })
      return rows
    },
    row => ({ merchantId: row.merchant_id, id: row.plan_id }),
  )
  return {
    ...createPlanPaymentReader({ readers, lists }),

    async find(merchantId, planId) {
      const { rows } = await readers.query<PlanRow & HistoryRow>({
        name: 'plan_by_id',
        text: `SELECT ${columns}, ${historyColumns} FROM payment_plan pl ${withInitial} ${withMethod} ${withHistory}
               WHERE pl.merchant_id = $1 AND pl.plan_id = $2`,
        values: [merchantId, planId],
      })
      return rows[0] && toEntry(rows[0])
    },

    async findChargeable(merchantId, planId) {
      const row = await lookUpChargeable({ merchantId, id: planId })
      return row && toChargeable(row)
    },

    async list(merchantId, page, conditions) {
      const values: unknown[] = [merchantId]
      const where = [`${byOtherIndex('pl.merchant_id')} = $1`]
      for (const [name, text] of entriesOf(comparisons)) {
        const value = conditions[name]
        if (value !== undefined) where.push(text.replace('?', `$${values.push(value)}`))
      }
      const found = `payment_plan pl ${withInitial} WHERE ${where.join(' AND ')}`
      const text = `SELECT totals.total, ${columns}, ${historyColumns}
         FROM (SELECT count(*) AS total FROM ${found}) totals
         LEFT JOIN LATERAL (SELECT pl.* FROM ${found} ORDER BY pl.created_at DESC, pl.plan_id DESC
           OFFSET $${values.push((page - 1) * pageSize)} LIMIT ${pageSize}) pl ON true
         LEFT ${withInitial} ${withMethod} ${withHistory}
         ORDER BY pl.created_at DESC, pl.plan_id DESC`
      const { rows } = await lists.run(merchantId, () =>
        readers.query<PlanRow & HistoryRow & { total: number }>(text, values),
      )
      return {
        total: rows[0]?.total ?? 0,
        items: rows.filter(row => row.plan_id !== null).map(toEntry),
      }
    },

    async findSchemeReference(merchantId, customerId, cardId) {
      const { rows } = await readers.query<{ scheme_reference_id: string }>({
        name: 'plan_scheme_reference',
        text: `SELECT scheme_reference_id FROM payment_plan WHERE ${byOtherIndex('merchant_id')} = $1 AND customer_id = $2
                 AND card_id = $3 AND scheme_reference_id IS NOT NULL ORDER BY created_at DESC LIMIT 1`,
        values: [merchantId, customerId, cardId],
      })
      return rows[0]?.scheme_reference_id
    },
  }
}
