/**
 * When a debit may be collected and under which sequence type: the calendar of the banks, the bank's cut-off hour, and
 * the mandate's history. Pure.
 */
import type { MandateAmendment } from '#connectors/bank/direct-debits.ts'
import type { SequenceType } from '#connectors/bank/initiation.ts'
import { addDays } from '#domain/time/calendar.ts'
import { type BankTime, targetDayAfter, targetDayFrom } from '#domain/time/target-calendar.ts'

/** The first settlement day that a file made at this time can reach: the next one, or after the cut-off the one after. */
export const earliestCollection = (made: BankTime, cutOffHour: number): string =>
  targetDayAfter(made.day, made.hour < cutOffHour ? 1 : 2)

/**
 * The earliest collection date of a debit requested now: the bank's next day, and the notice period for the customer.
 */
export function announcedDay(
  asked: BankTime,
  { cutOffHour, preNotificationDays }: { readonly cutOffHour: number; readonly preNotificationDays: number },
): string {
  const bank = earliestCollection(asked, cutOffHour)
  const noticed = targetDayFrom(addDays(asked.day, preNotificationDays))
  return noticed > bank ? noticed : bank
}

/** What we know about a mandate that was used before. */
export interface UsedMandate {
  readonly lastUsedOn: string
  readonly creditorId: string
  readonly creditorName: string
  /** The vault's key of the account that was debited last. */
  readonly heldId: string
}

export interface MandateUse {
  readonly creditorId: string
  readonly creditorName: string
  readonly heldId: string
  /** The customer agreed to later debits too. */
  readonly recurring: boolean
  /** The plan ends with this one. */
  readonly last: boolean
}

export function sequenceOf(use: Pick<MandateUse, 'recurring' | 'last'>, used: boolean): SequenceType {
  if (use.last && used) return 'FNAL'
  if (used) return 'RCUR'
  return use.recurring ? 'FRST' : 'OOFF'
}

/** The mandate's amendments since its last use, which the file must state; undefined: none. */
export function amendmentOf(use: MandateUse, used: UsedMandate | undefined): MandateAmendment | undefined {
  if (!used) return undefined
  const movedCreditor = used.creditorId !== use.creditorId
  const newAccount = used.heldId !== use.heldId
  if (!movedCreditor && !newAccount) return undefined
  return {
    ...(movedCreditor ? { originalCreditorId: used.creditorId } : {}),
    ...(movedCreditor && used.creditorName !== use.creditorName
      ? { originalCreditorName: used.creditorName }
      : {}),
    ...(newAccount ? { newAccount } : {}),
  }
}

/**
 * 36 months, the scheme's own limit: a mandate that was not used for that long is void, and the creditor must cancel
 * it.
 */
const disuseYears = 3

/** Counted from the last debit, or from the signature when there was none. */
export function isDisused(lastUseOrSignature: string, collectionDay: string): boolean {
  const end = `${Number(lastUseOrSignature.slice(0, 4)) + disuseYears}${lastUseOrSignature.slice(4)}`
  // Three years after a leap day there is no leap day.
  return collectionDay > end.replace('-02-29', '-03-01')
}

/** When a debit counts as paid although the bank has not said so. */
export const silentApproval = (collectionDay: string, approveAfterDays: number): string =>
  targetDayAfter(collectionDay, approveAfterDays)
