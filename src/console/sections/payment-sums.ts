/** The sums of a payment in the console: tables that add up, and marks for money that went back. */

import { type Json, toRows } from '#console/context.ts'
import { pick, showMoney } from '#console/views/parts.ts'
import { type Html, html, type Part } from '#http/html.ts'

export const sum = (payment: Json, name: string): number => Number(pick(payment, `amount.${name}`) ?? 0)

export const currencyOf = (payment: Json): string => String(pick(payment, 'amount.currency') ?? '')

export const openAmount = (payment: Json): number =>
  sum(payment, 'authorizedValue') - sum(payment, 'capturedValue') - sum(payment, 'reversedValue')

export const refundable = (payment: Json): number =>
  sum(payment, 'capturedValue') -
  sum(payment, 'refundedValue') -
  sum(payment, 'returnedValue') -
  sum(payment, 'disputedValue')

/** Money to a customer without an earlier payment: nothing was authorised or captured, and its sum counts as refunded. */
const isPayout = ({ operations }: Json): boolean => toRows(operations).some(({ type }) => type === 'CREDIT')

interface SumLine {
  readonly title: string
  readonly value: number
}

/**
 * Two small tables that add up: the part of the authorised amount that may still be captured, and the rest of the
 * captured amount.
 */
export function renderSums(payment: Json): Html {
  const currency = currencyOf(payment)
  const line = (title: string, name: string): SumLine => ({ title, value: sum(payment, name) })
  if (isPayout(payment))
    return html`<table class="sums" aria-label="Paid out"><tbody><tr><th scope="row">Paid out</th><td class="number">${showMoney({ value: sum(payment, 'refundedValue'), currency })}</td></tr></tbody></table>`
  const account = (name: string, first: SumLine, taken: readonly SumLine[], rest: SumLine): Html =>
    html`<table class="sums" aria-label="${name}"><tbody>${[
      first,
      ...taken.filter(({ value }) => value > 0),
    ].map(
      ({ title, value }, index) =>
        html`<tr><th scope="row">${title}</th><td class="number">${index > 0 && '− '}${showMoney({ value, currency })}</td></tr>`,
    )}<tr class="rest"><th scope="row">${rest.title}</th><td class="number">${showMoney({ value: Math.max(0, rest.value), currency })}</td></tr></tbody></table>`
  const authorized = account(
    'Authorised',
    line('Authorised', 'authorizedValue'),
    [line('Captured', 'capturedValue'), line('Reversed', 'reversedValue')],
    { title: 'Still open', value: openAmount(payment) },
  )
  if (sum(payment, 'capturedValue') === 0) return authorized
  const given = [
    line('Refunded', 'refundedValue'),
    line('Returned', 'returnedValue'),
    line('Disputed', 'disputedValue'),
  ]
  const kept = { title: 'Kept', value: refundable(payment) }
  return html`${authorized}${account('Captured', line('Captured', 'capturedValue'), given, kept)}`
}

/** The amount of a bank transfer that has arrived so far: the sums count it only once it is complete. */
export const showReceived = (payment: Json): Part =>
  sum(payment, 'receivedValue') > 0 &&
  showMoney({ value: sum(payment, 'receivedValue'), currency: currencyOf(payment) })

/** Marks for facts that the status does not show: money that has been returned, or may be. */
export function showMarks(payment: Json): Part {
  const [captured, refunded] = [sum(payment, 'capturedValue'), sum(payment, 'refundedValue')]
  const refund = isPayout(payment) ? 'paid out' : refunded < captured ? 'refunded in part' : 'refunded'
  return [
    refunded > 0 && html` <span class="badge quiet">${refund}</span>`,
    sum(payment, 'returnedValue') > 0 && html` <span class="badge bad">returned</span>`,
    sum(payment, 'disputedValue') > 0 && html` <span class="badge warn">disputed</span>`,
  ]
}
