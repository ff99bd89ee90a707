/**
 * The collection date and sequence type of a debit, from the TARGET calendar, the bank's cut-off hour and the history
 * of the mandate. Pure.
 */
import type { MandateAmendment } from '#connectors/bank/direct-debits.ts'
import type { SequenceType } from '#connectors/bank/initiation.ts'
import { addDays } from '#domain/time/calendar.ts'
import { type BankTime, targetDayAfter, targetDayFrom } from '#domain/time/target-calendar.ts'

/**
 * The earliest settlement day for a file made at this time: the next one, or after the cut-off hour the one after that.
 */
export const earliestCollection = (made: BankTime, cutOffHour: number): string =>
  targetDayAfter(made.day, made.hour < cutOffHour ? 1 : 2)

/**
 * The earliest collection date of a debit requested now: the bank's earliest day or the end of the customer's notice
 * period, whichever is later.
 */
export function announcedDay(
  asked: BankTime,
  { cutOffHour, preNotificationDays }: { readonly cutOffHour: number; readonly preNotificationDays: number },
): string {
  const bank = earliestCollection(asked, cutOffHour)
  const noticed = targetDayFrom(addDays(asked.day, preNotificationDays))
  return noticed > bank ? noticed : bank
}

/** The last use of a mandate. */
export interface UsedMandate {
  readonly lastUsedOn: string
  readonly creditorId: string
  readonly creditorName: string
  /** The vault's id of the account that was debited last. */
  readonly heldId: string
}

export interface MandateUse {
  readonly creditorId: string
  readonly creditorName: string
  readonly heldId: string
  /** The customer has agreed to later debits too. */
  readonly recurring: boolean
  /** This is the last debit of the plan. */
  readonly last: boolean
}

export function sequenceOf(use: Pick<MandateUse, 'recurring' | 'last'>, used: boolean): SequenceType {
  if (use.last && used) return 'FNAL'
  if (used) return 'RCUR'
  return use.recurring ? 'FRST' : 'OOFF'
}

/** What has changed since the mandate's last use, which the file must state; undefined: nothing. */
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
 * 36 months: by the rules of the scheme a mandate that was not used for so long is void, and the creditor must cancel
 * it.
 */
const disuseYears = 3

/** Counted from the last debit or, if there was none, from the signature. */
export function isDisused(lastUseOrSignature: string, collectionDay: string): boolean {
  const end = `${Number(lastUseOrSignature.slice(0, 4)) + disuseYears}${lastUseOrSignature.slice(4)}`
  // Three years after 29 February there is no such day.
  return collectionDay > end.replace('-02-29', '-03-01')
}

/** The day on which a debit counts as paid without a report of the bank. */
export const silentApproval = (collectionDay: string, approveAfterDays: number): string =>
  targetDayAfter(collectionDay, approveAfterDays)
