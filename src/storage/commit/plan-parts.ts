/**
 * The SQL for payment plans: creation, start, turns and changes. Every statement finds its plan by the primary key. A
 * guard prevents steps that must not happen twice.
 */
import { checkedLast } from '#storage/planner.ts'
import type { Columns } from '#storage/recordset.ts'

const key = [
  ['merchant_id', 'text'],
  ['plan_id', 'uuid'],
] as const

const samePlan = 't.merchant_id = i.merchant_id AND t.plan_id = i.plan_id'
const accepted = 'i.c NOT IN (SELECT c FROM refused)'

const birthColumns = [
  ...key,
  ['initial_pay_id', 'uuid'],
  ['type', 'text'],
  ['currency', 'text'],
  ['amount', 'bigint'],
  ['recurring', 'json'],
  ['metadata', 'json'],
  ['created_at', 'timestamptz'],
] as const

const names = birthColumns.map(([name]) => name).join(', ')

/**
 * Finds the stored method that the plan charges: by the card that is about to be released, or by the account, which is
 * that of the initial payment until the plan is moved to another.
 */
const methodCharged = `(SELECT m.method_id FROM stored_method m WHERE m.merchant_id = t.merchant_id
  AND m.customer_id = t.customer_id AND (m.card_id = t.card_id OR m.account_id = CASE WHEN t.charged_method IS NULL
    THEN (SELECT p.account_id FROM payment p WHERE p.merchant_id = t.merchant_id AND p.pay_id = t.initial_pay_id)
    ELSE (t.charged_account ->> 'accountId')::uuid END))`

export const planParts = {
  plan: {
    columns: birthColumns,
    write: () => `INSERT INTO payment_plan (${names}, status, tries, updated_at, version)
      SELECT ${names}, 'PENDING', 0, created_at, 1 FROM plan_in i WHERE ${accepted}`,
  },
  planStart: {
    columns: [
      ...key,
      ['status', 'text'],
      ['currency', 'text'],
      ['amount', 'bigint'],
      ['customer_id', 'uuid'],
      ['merchant_customer_id', 'text'],
      ['card_id', 'uuid'],
      ['scheme_reference_id', 'text'],
      ['began_on', 'date'],
      ['next_payment_date', 'date'],
      ['updated_at', 'timestamptz'],
    ] as const,
    // A plan that was cancelled while its customer was paying stays cancelled and needs no card.
    write:
      () => `UPDATE payment_plan t SET currency = i.currency, amount = i.amount, customer_id = i.customer_id,
        merchant_customer_id = i.merchant_customer_id, scheme_reference_id = i.scheme_reference_id, began_on = i.began_on,
        status = CASE WHEN t.status = 'PENDING' THEN i.status ELSE t.status END,
        card_id = CASE WHEN t.status = 'PENDING' THEN i.card_id END,
        next_payment_date = CASE WHEN t.status = 'PENDING' THEN i.next_payment_date END,
        updated_at = i.updated_at, version = t.version + 1
      FROM plan_start_in i WHERE ${samePlan} AND ${accepted}`,
  },
  // Only a guard.
  planCharge: { columns: key, write: undefined },
  planTurn: {
    columns: [
      ...key,
      ['pay_id', 'uuid'],
      ['expected_version', 'integer'],
      ['updated_at', 'timestamptz'],
    ] as const,
    write: () => `UPDATE payment_plan t SET charging_pay_id = i.pay_id, updated_at = i.updated_at,
        version = t.version + 1 FROM plan_turn_in i WHERE ${samePlan} AND ${accepted}`,
  },
  // Only a guard.
  planHold: { columns: [...key, ['expected_version', 'integer']] as const, write: undefined },
  // Only a guard.
  planMethod: {
    columns: [
      ['merchant_id', 'text'],
      ['customer_id', 'uuid'],
      ['method_id', 'uuid'],
      ['held_id', 'uuid'],
    ] as const,
    write: undefined,
  },
  planResult: {
    columns: [
      ...key,
      ['pay_id', 'uuid'],
      ['status', 'text'],
      ['next_payment_date', 'date'],
      ['tries', 'smallint'],
      ['updated_at', 'timestamptz'],
    ] as const,
    // If the plan was cancelled or suspended while the charge was under way, only the charge ends.
    write: () => `UPDATE payment_plan t SET charging_pay_id = NULL,
        status = CASE WHEN t.status = 'ACTIVE' THEN i.status ELSE t.status END,
        next_payment_date = CASE WHEN t.status = 'ACTIVE' THEN i.next_payment_date ELSE t.next_payment_date END,
        tries = i.tries, updated_at = i.updated_at, version = t.version + 1
      FROM plan_result_in i WHERE ${samePlan} AND t.charging_pay_id = i.pay_id AND ${accepted}`,
  },
  planProgress: {
    columns: [
      ...key,
      ['next_payment_date', 'date'],
      ['paid_until', 'date'],
      ['updated_at', 'timestamptz'],
    ] as const,
    // Two simultaneous charges count for the same day, and an older one that is settled late does not move the date
    // back. The version is raised, so that a concurrent change of the plan does not restore the old date. A plan that
    // was paused, suspended or given an earlier end meanwhile remembers what was paid, for when it goes on.
    write: () => `UPDATE payment_plan t SET updated_at = i.updated_at, version = t.version + 1,
        next_payment_date = CASE WHEN t.next_payment_date IS NULL OR i.next_payment_date IS NULL THEN NULL
          ELSE greatest(t.next_payment_date, i.next_payment_date) END,
        paid_until = greatest(t.paid_until, i.paid_until)
      FROM plan_progress_in i WHERE ${samePlan} AND ${checkedLast("t.status IN ('ACTIVE', 'PAUSED', 'SUSPENDED')")}
        AND ${accepted}`,
  },
  planUpdate: {
    columns: [
      ...key,
      ['status', 'text'],
      ['cancelled_at', 'timestamptz'],
      ['cancellation_reason', 'text'],
      ['metadata', 'json'],
      ['updated_at', 'timestamptz'],
      ['version', 'integer'],
      ['expected_version', 'integer'],
    ] as const,
    // An ended plan releases its card, so that the plan no longer keeps the number in the vault.
    write: () => `UPDATE payment_plan t SET status = i.status, cancelled_at = i.cancelled_at,
        cancellation_reason = i.cancellation_reason, metadata = i.metadata, next_payment_date = NULL,
        ended_method_id = coalesce(${methodCharged}, t.ended_method_id), card_id = NULL, updated_at = i.updated_at, version = i.version
      FROM plan_update_in i WHERE ${samePlan} AND ${accepted}`,
  },
  planChange: {
    columns: [
      ...key,
      ['status', 'text'],
      ['amount', 'bigint'],
      ['recurring', 'json'],
      ['metadata', 'json'],
      ['card_id', 'uuid'],
      ['scheme_reference_id', 'text'],
      ['charged_method', 'text'],
      ['charged_account', 'json'],
      ['next_payment_date', 'date'],
      ['asked_on', 'date'],
      ['paid_until', 'date'],
      ['tries', 'smallint'],
      ['updated_at', 'timestamptz'],
      ['version', 'integer'],
      ['expected_version', 'integer'],
    ] as const,
    // The plan continues with other terms or another status.
    write: () => `UPDATE payment_plan t SET status = i.status, amount = i.amount, recurring = i.recurring,
        metadata = i.metadata, card_id = i.card_id, scheme_reference_id = i.scheme_reference_id,
        charged_method = i.charged_method, charged_account = i.charged_account,
        next_payment_date = i.next_payment_date, asked_on = i.asked_on, paid_until = i.paid_until,
        tries = i.tries, updated_at = i.updated_at, version = i.version
      FROM plan_change_in i WHERE ${samePlan} AND ${accepted}`,
  },
} satisfies Record<string, { columns: Columns; write: (() => string) | undefined }>

/** The changes that are refused, as rows of `c` and `why`. */
export const planRefusals = (present: readonly string[]): string[] =>
  present.includes('planCharge')
    ? [
        `SELECT i.c, 'plan_changed' AS why FROM plan_charge_in i WHERE NOT EXISTS (
          SELECT 1 FROM payment_plan t WHERE ${samePlan} AND t.status = 'ACTIVE')`,
      ]
    : []

const unchanged = `payment_plan t WHERE ${samePlan} AND t.version = i.expected_version`

export const planGuards = {
  // The stored method that a plan is moved to. Locked before the plan, in the order of a deletion, which then either
  // finds the plan on its new method and suspends it, or comes first.
  planMethod: {
    row: `stored_method t WHERE t.merchant_id = i.merchant_id AND t.customer_id = i.customer_id
      AND t.held_id = i.held_id AND t.method_id = i.method_id`,
    why: 'card_gone',
  },
  // Only one of the changes that expect this version of the plan charges it.
  planTurn: {
    row: `${unchanged} AND t.status = 'ACTIVE' AND t.charging_pay_id IS NULL`,
    why: 'plan_changed',
  },
  // Only locked, so that a process that settles a charge of the plan comes entirely before or after.
  planHold: { row: unchanged, why: 'plan_changed' },
  planChange: { row: unchanged, why: 'plan_changed' },
  planUpdate: { row: unchanged, why: 'plan_changed' },
} as const
