/**
 * The contents of a bank file, independent of its version: statements, transactions and rejections of our payments.
 * Also maps the reasons of returns and rejections to our response codes.
 */
import { entryOf } from '#domain/json.ts'
import type { Money } from '#domain/money/money.ts'
import type { ProviderFacts } from '#lifecycle/outcome.ts'

export type BankFact = StatementFact | TransactionFact | ReportFact | RejectionFact

/** The start of a statement: the transactions that follow belong to its account. */
export interface StatementFact {
  readonly kind: 'statement'
  readonly statementId: string
  /** The IBAN, or the bank's own number of the account. */
  readonly account: string
}

export interface TransactionFact {
  readonly kind: 'transaction'
  /** Identifies the transaction in every file: the bank's reference, and the position within its entry. */
  readonly key: string
  /** The key under which earlier releases stored the transaction, if it was another one. */
  readonly formerKey?: string
  /** The bank's reference of the entry, for display. */
  readonly bankReference?: string
  readonly direction: 'CRDT' | 'DBIT'
  readonly amount: Money
  /** YYYY-MM-DD */
  readonly bookedOn: string
  readonly endToEndId?: string
  readonly messageId?: string
  /**
   * The batch of ours that the bank booked as one sum, without its single payments. Some banks name only its message.
   */
  readonly wholeBlock?: WholeBlock
  readonly returned?: { readonly reason?: string }
  /** It takes back an earlier entry: what comes in was not sent by a customer. */
  readonly takesBack?: true
  /** The requested amount before charges were added or deducted. */
  readonly originalAmount?: Money
  /** The bank's charges, in the smallest unit of the amount's currency. */
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

/** A status report (pain.002) about one of our messages. */
export interface ReportFact {
  readonly kind: 'report'
  readonly messageId: string
}

/** The bank rejected a whole message, one payment information (block) of it, or a single payment. */
export interface RejectionFact {
  readonly kind: 'rejection'
  readonly messageId: string
  readonly blockId?: string
  readonly endToEndId?: string
  readonly reason?: string
}

/**
 * ISO 20022 reason codes with the last four digits of our response code: 03 and the code that a card issuer would use.
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

export const detailOf = (reason: string | undefined): string => entryOf(details, reason ?? '') ?? '0305'

/**
 * Reasons why our transfer can never succeed: the account number is wrong, the account is closed, blocked or takes no
 * transfers, the bank code is wrong, or the holder has died. The same transfer would be returned again.
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

/** The account is closed, there is no mandate, the customer reclaims the money, or the customer has died. */
const endings: ReadonlySet<string> = new Set(['AC04', 'MD01', 'MD06', 'MD07'])

/** Whether a return with this reason ends the mandate, so that no further debit is allowed. */
export const endsMandate = (reason: string | undefined): boolean => endings.has(reason ?? '')
