/**
 * The permissions of console roles, in one table. Pages use it to decide what to show, and the server checks it again
 * before every action.
 */

import { isActiveCurrency } from '#domain/money/currencies.ts'
import { isPrintable } from '#domain/text.ts'

/** From the fewest permissions to the most. */
export const roles = ['viewer', 'support', 'admin', 'owner'] as const
export type Role = (typeof roles)[number]

/** Each action and the lowest role that may perform it. */
const leastRole = {
  read: 'viewer',
  capture: 'support',
  refund: 'support',
  reverse: 'support',
  cancel: 'support',
  replay: 'support',
  testTools: 'support',
  disputes: 'support',
  links: 'admin',
  plans: 'admin',
  keys: 'admin',
  webhooks: 'admin',
  providers: 'admin',
  routes: 'admin',
  retention: 'admin',
  merchants: 'admin',
  operators: 'owner',
  audit: 'owner',
} as const satisfies Record<string, Role>

export type ConsoleAct = keyof typeof leastRole

export const mayAct = (role: Role, act: ConsoleAct): boolean =>
  roles.indexOf(role) >= roles.indexOf(leastRole[act])

/** Undefined: no limit. Limits in other currencies only: nothing may be refunded in this currency. */
export function isWithinRefundLimit(
  limits: readonly string[] | undefined,
  amount: { readonly value: number; readonly currency: string },
): boolean {
  if (limits === undefined) return true
  const limit = limits.find(text => text.endsWith(amount.currency))
  return limit !== undefined && amount.value <= Number(limit.slice(0, -3))
}

/** Lenient: an address of an internal network needs no dot. 254 is the limit of RFC 5321. */
export const isOperatorEmail = (text: string): boolean =>
  /^[^@\s]+@[^@\s]+$/.test(text) && text.length <= 254 && isPrintable(text)

/** `20000EUR`: smallest units and an active currency. */
export const isRefundLimit = (text: string): boolean =>
  /^\d{1,12}[A-Z]{3}$/.test(text) && isActiveCurrency(text.slice(-3))
