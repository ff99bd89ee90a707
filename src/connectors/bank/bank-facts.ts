/**
 * What a file of the bank says, whatever its version: statements, their transactions, rejections of what we sent, and the
 * reasons of returns and rejections with our response codes for them.
 */
import type { Money } from '#domain/money/money.ts'
import type { ProviderFacts } from '#lifecycle/outcome.ts'

export type BankFact = StatementFact | TransactionFact | ReportFact | RejectionFact

/** The transactions that follow belong to this account. */
export interface StatementFact {
  readonly kind: 'statement'
  readonly statementId: string
  /** The IBAN, or whatever else the bank calls the account. */
  readonly account: string
}

export interface TransactionFact {
  readonly kind: 'transaction'
  /** Identifies the transaction in every file: the bank's reference, and the position within its entry. */
  readonly key: string
  /** What earlier releases stored it by, if that was another key. */
  readonly formerKey?: string
  /** The bank's reference of the entry, for people. */
  readonly bankReference?: string
  readonly direction: 'CRDT' | 'DBIT'
  readonly amount: Money
  /** YYYY-MM-DD */
  readonly bookedOn: string
  readonly endToEndId?: string
  readonly messageId?: string
  /**
   * A payment information that the bank books as one sum without its single payments; some banks only name its message.
   */
  readonly wholeBlock?: WholeBlock
  readonly returned?: { readonly reason?: string }
  /** The requested amount before charges were added or deducted. */
  readonly originalAmount?: Money
  /** In the smallest unit of the amount's currency, what the bank took for itself. */
  readonly charges: number
  readonly remittance: string
  readonly partyName?: string
  readonly partyIban?: string
  readonly partyBic?: string
}

export interface WholeBlock {
  readonly blockId?: string
  readonly messageId?: string
  readonly payments?: number
}

/** A status report about one message of ours. */
export interface ReportFact {
  readonly kind: 'report'
  readonly messageId: string
}

/** The whole message, one payment information of it, or one payment was rejected. */
export interface RejectionFact {
  readonly kind: 'rejection'
  readonly messageId: string
  readonly blockId?: string
  readonly endToEndId?: string
  readonly reason?: string
}

/**
 * Reason codes of ISO 20022 and the last four digits of our response code: 03 and the code that a card issuer would have
 * used.
 */
const details: Readonly<Record<string, string>> = {
  AM04: '0351',
  AC01: '0314',
  AC04: '0314',
  AC06: '0314',
  MD01: '0357',
  MD06: '0357',
  MS02: '0357',
}

/** Positive to the merchant, negative from them. */
export const signedValue = ({ direction, amount }: TransactionFact): number =>
  direction === 'CRDT' ? amount.value : -amount.value

export const detailOf = (reason: string | undefined): string => details[reason ?? ''] ?? '0305'

/**
 * Of a transfer of ours: the number is wrong, the account is closed, blocked or takes no transfers, its bank is not one, or
 * its holder has died. The same transfer would come back again.
 */
const undeliverable: ReadonlySet<string> = new Set([
  ...['AC01', 'AC03', 'AC04', 'AC06', 'AC14', 'AG01', 'CNOR', 'MD07', 'RC01', 'RC04'],
])

/** The bank's own reason code, as records and events show it. */
export const reasonFacts = (
  reason: string | undefined,
): Pick<ProviderFacts, 'responseCode' | 'fields' | 'undeliverable'> =>
  reason === undefined
    ? {}
    : {
        responseCode: reason,
        fields: { reasonCode: reason.slice(0, 35) },
        ...(undeliverable.has(reason) ? { undeliverable: true } : {}),
      }

/** The account is closed, there is no mandate, the customer wants the money back, or has died. */
const endings: ReadonlySet<string> = new Set(['AC04', 'MD01', 'MD06', 'MD07'])

/** Whether nothing may be collected under this mandate any more. */
export const endsMandate = (reason: string | undefined): boolean => endings.has(reason ?? '')
