/** When to ask again about an operation without an answer, and when to stop. */

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs

/** Counted from the operation: soon at first, because most lost answers are there seconds later. */
const firstInquiriesMs = [10 * secondMs, 30 * secondMs, minuteMs, 5 * minuteMs, 15 * minuteMs]

/** After a day it is asked every six hours: debits and vouchers take days, and nobody waits at a till for them. */
const hourlyForMs = 24 * hourMs
const laterPauseMs = 6 * hourMs

/**
 * The time of inquiry number `attempt` (from 0) of an operation made at `createdAt`, or undefined when that was the last:
 * after `lastMs`, which the provider declares, a person must look; the operation stays PENDING and keeps counting.
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
