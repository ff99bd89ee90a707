/** Settings, methods and capabilities of bank accounts. */
import type { Capabilities, ConnectorFacts, SettingFact } from '#connectors/contract.ts'
import { isCreditorId, isIban } from '#domain/iban.ts'

/** The settings of an account, read from their text. */
export interface BankSettings {
  readonly creditorName: string
  readonly creditorIban: string
  readonly creditorId: string
  readonly cutOffHour: number
  readonly preNotificationDays: number
  readonly batchBooking: boolean
  /** Undefined: only the bank's booking of the money approves a debit. */
  readonly approveAfterDays?: number
}

const wholeNumber =
  (from: number, to: number) =>
  (value: string): string | undefined =>
    /^[0-9]{1,3}$/.test(value) && Number(value) >= from && Number(value) <= to
      ? undefined
      : `it must be a whole number from ${from} to ${to}`

const settings: Readonly<Record<string, SettingFact>> = {
  creditorName: {
    required: true,
    description: 'the name on the bank account',
    check: value => (value.length <= 70 ? undefined : 'it must have at most 70 characters'),
  },
  creditorIban: {
    required: true,
    description: 'the IBAN of the account that collects and pays',
    check: value =>
      isIban(value) ? undefined : 'it must be an IBAN in upper case, without spaces, with a right checksum',
  },
  creditorId: {
    required: true,
    description: 'the creditor identifier, in Germany given by the Bundesbank',
    check: value =>
      isCreditorId(value)
        ? undefined
        : 'it must be a creditor identifier like DE98ZZZ09999999999, with right check digits',
  },
  cutOffHour: {
    // Noon: the cut-off of most banks; an early file does no harm, a late one is rejected.
    default: '12',
    description: 'the hour (Europe/Berlin) until which the bank takes files for the next settlement day',
    check: wholeNumber(0, 24),
  },
  preNotificationDays: {
    default: '1',
    description: 'how many days before its collection a debit is announced',
    check: wholeNumber(0, 90),
  },
  batchBooking: {
    default: 'true',
    description: 'whether the bank books all payments of one day as one sum',
    check: value => (value === 'true' || value === 'false' ? undefined : 'it must be true or false'),
  },
  approveAfterDays: {
    description: 'after how many settlement days without a return a debit counts as paid; never unless given',
    check: wholeNumber(0, 90),
  },
}

/** Parses the settings of an account; defaults apply where a value is missing. */
export function readSettings(given: Readonly<Record<string, string>>): BankSettings {
  const setting = (name: string): string => given[name] ?? settings[name]?.default ?? ''
  const approveAfter = setting('approveAfterDays')
  return {
    creditorName: setting('creditorName'),
    creditorIban: setting('creditorIban'),
    creditorId: setting('creditorId'),
    cutOffHour: Number(setting('cutOffHour')),
    preNotificationDays: Number(setting('preNotificationDays')),
    batchBooking: setting('batchBooking') !== 'false',
    ...(approveAfter === '' ? {} : { approveAfterDays: Number(approveAfter) }),
  }
}

const debits: Capabilities = {
  rawCards: false,
  capture: 'several',
  partialCaptureReleasesRest: false,
  partialReversal: true,
  reversal: true,
  refund: true,
  partialRefund: true,
  increment: false,
  credit: true,
  storedCredentials: true,
}

/** The customer transfers the money, which is captured as soon as it arrives. */
const transfers: Capabilities = {
  ...debits,
  capture: 'none',
  partialReversal: false,
  reversal: false,
  storedCredentials: false,
  instructs: true,
}

/** Like transfers, but an invoice offers MANUAL capture only, and the arriving money triggers it. */
const invoices: Capabilities = { ...transfers, capture: 'one', reversal: true }

const capabilities: Readonly<Record<string, Capabilities>> = {
  DIRECTDEBIT: debits,
  SEPACREDITTRANSFER: transfers,
  SEPAINSTANT: transfers,
  INVOICE: invoices,
}

export const capabilitiesOf = (type: string): Capabilities | undefined =>
  Object.hasOwn(capabilities, type) ? capabilities[type] : undefined

/** Whether the customer transfers the money, instead of being debited. */
export const isIncoming = (type: string): boolean =>
  type !== 'DIRECTDEBIT' && capabilitiesOf(type) !== undefined

/** The methods with which the customer transfers the money. */
export const incomingTypes: readonly string[] = Object.keys(capabilities).filter(isIncoming)

const dayMs = 24 * 60 * 60 * 1000

export const bankFacts: ConnectorFacts = {
  name: 'bank',
  liveHosts: [],
  settings,
  secrets: {},
  serves: type => capabilitiesOf(type) !== undefined,
  exponent: currency => (currency === 'EUR' ? 2 : undefined),
  // No call is made, so none can be lost; a look-up always finds the answer.
  lostAnswer: { noticeWithinMs: 0, lookUpSettledMs: 0, undo: false },
  timeoutMs: 20_000,
  // 180 days, far more than two weeks of notice, the collection and a late statement of the bank.
  pendingMs: () => 180 * dayMs,
  batched: true,
}
