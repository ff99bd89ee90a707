/** When to query the provider for the status of an unanswered operation, and when to stop. */

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs

/** Delays, counted from the operation. The first ones are short: most lost answers are available seconds later. */
const firstInquiriesMs = [10 * secondMs, 30 * secondMs, minuteMs, 5 * minuteMs, 15 * minuteMs]

/** After a day the provider is queried every six hours: debits and vouchers take days, and no caller waits for them. */
const hourlyForMs = 24 * hourMs
const laterPauseMs = 6 * hourMs

/** The inquiry at the end of the first day. Later ones are made only for providers that declare a longer time. */
export const inquiryAfterOneDay = firstInquiriesMs.length - 1 + hourlyForMs / hourMs

/**
 * The time of inquiry number `attempt` (from 0) of an operation made at `createdAt`. Undefined after `lastMs`, which
 * the provider declares: an operator must look at the operation, which stays PENDING with its amount reserved.
 */
export function inquiryTime(createdAt: Date, attempt: number, lastMs = hourlyForMs): Date | undefined {
  const hours = attempt - firstInquiriesMs.length + 1
  const afterMs = firstInquiriesMs[attempt] ?? afterHours(hours)
  return afterMs > Math.max(lastMs, hourlyForMs) ? undefined : new Date(createdAt.getTime() + afterMs)
}

const afterHours = (hours: number): number => {
  const hourly = hourlyForMs / hourMs
  return hours <= hourly ? hours * hourMs : hourlyForMs + (hours - hourly) * laterPauseMs
}
