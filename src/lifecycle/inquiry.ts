/** When to ask again about an operation without an answer, and when to stop. */

const secondMs = 1_000
const minuteMs = 60 * secondMs
const hourMs = 60 * minuteMs

/** Counted from the operation: soon at first, because most lost answers are there seconds later. */
const firstInquiriesMs = [10 * secondMs, 30 * secondMs, minuteMs, 5 * minuteMs, 15 * minuteMs]

/** After a day without an answer a person must look; the operation stays PENDING and keeps counting. */
const lastInquiryMs = 24 * hourMs

/** The time of inquiry number `attempt` (from 0) of an operation made at `createdAt`, or undefined when that was the last. */
export function inquiryTime(createdAt: Date, attempt: number): Date | undefined {
  const afterMs = firstInquiriesMs[attempt] ?? (attempt - firstInquiriesMs.length + 1) * hourMs
  return afterMs > lastInquiryMs ? undefined : new Date(createdAt.getTime() + afterMs)
}
