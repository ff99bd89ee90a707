/**
 * The bank as a provider. It makes no calls: a complete mandate on an account with a valid checksum is an
 * authorisation, and operations that move money are pending until the next file and the bank's report. Commands write
 * and read the files.
 */
import { createHash } from 'node:crypto'
import { announcedDay } from '#connectors/bank/collection.ts'
import {
  type BankSettings,
  bankFacts,
  capabilitiesOf,
  isIncoming,
  readSettings,
} from '#connectors/bank/facts.ts'
import { readSettlement } from '#connectors/bank/settlement.ts'
import type {
  AuthorizationOutcome,
  AuthorizationRequest,
  Connector,
  ConnectorDefinition,
  FieldMisfit,
  Inquiry,
  OperationRequest,
} from '#connectors/contract.ts'
import { isIban } from '#domain/iban.ts'
import type { XId } from '#domain/ids.ts'
import { addDays, dayOf } from '#domain/time/calendar.ts'
import { toIsoDay } from '#domain/time/dates.ts'
import { bankTimeOf } from '#domain/time/target-calendar.ts'
import type { Outcome } from '#lifecycle/outcome.ts'

export const bankDefinition: ConnectorDefinition = {
  facts: bankFacts,
  open: ({ settings }) => openBank(readSettings(settings)),
}

function openBank(settings: BankSettings): Connector {
  const queue = async (request: OperationRequest): Promise<Outcome> => queued(request, settings)
  return {
    facts: bankFacts,
    supports: method => capabilitiesOf(method.type),
    creditor: { name: settings.creditorName, creditorId: settings.creditorId },
    authorize: async request =>
      isIncoming(request.payment.method.type)
        ? { authorization: instruct(request, settings, request.at) }
        : checkMandate(request, settings),
    capture: queue,
    refund: queue,
    credit: queue,
    // Nothing was reserved anywhere, so nothing has to be released.
    reverse: async request => ({ kind: 'approved', provider: { echo: echoOf(request) } }),
    // Only we know of an awaited transfer, so ending it needs no call.
    cancelAction: async inquiry => ({
      kind: 'declined',
      detail: '0704',
      provider: { echo: echoOf(inquiry) },
    }),
    // On our hosted page the customer enters the account and agrees to the mandate later.
    findMisfit({ payment, operation, account, at }) {
      if (isIncoming(payment.method.type)) return undefined
      return payment.integrationType === 'HOSTED'
        ? findLateSignature(payment.methodFields ?? {}, at)
        : findMisfit({ operation, account, at })
    },
    findCaptureMisfit: findLateSignature,
    // Only a crash of our own process can lose an answer here, so a stored request can simply be answered again.
    inquire: async inquiry => ({ authorization: lookUp(inquiry, settings) }),
    readSettlement,
    check: async () => [
      {
        name: 'settings',
        ok: true,
        detail: `collects for ${settings.creditorId} on the account ending in ${settings.creditorIban.slice(-4)}; nobody is called`,
      },
    ],
  }
}

const echoOf = ({ reference, amount }: Pick<OperationRequest, 'reference' | 'amount'>) => ({
  reference,
  amount,
})

type Queued = Pick<OperationRequest, 'operation' | 'reference' | 'amount' | 'at'>

/** The money moves with the next file. A debit carries its announced collection date. */
function queued(request: Queued, settings: BankSettings): Outcome {
  const { creditorId } = settings
  const fields = { dueDate: announcedDay(bankTimeOf(request.at), settings), creditorId }
  const isDebit = request.operation === 'CAPTURE'
  return {
    kind: 'pending',
    scheduled: true,
    provider: { echo: echoOf(request), ...(isDebit ? { fields } : {}) },
  }
}

function checkMandate(request: AuthorizationRequest, settings: BankSettings): AuthorizationOutcome {
  const provider = { echo: echoOf(request) }
  if (findMisfit(request) !== undefined)
    return { authorization: { kind: 'declined', detail: '0314', provider } }
  const { captureReference } = request
  return {
    authorization: { kind: 'approved', provider },
    ...(captureReference === undefined
      ? {}
      : { capture: queued({ ...request, operation: 'CAPTURE', reference: captureReference }, settings) }),
  }
}

const misfit = (field: string, error: string): FieldMisfit => ({
  field: `paymentMethods.directDebit.${field}`,
  error,
})

/** The first field of the request that is missing or invalid for a debit; undefined: the mandate is complete. */
function findMisfit({
  operation,
  account,
  at,
}: Pick<AuthorizationRequest, 'operation' | 'account' | 'at'>): FieldMisfit | undefined {
  if (!account) return misfit('account', 'is missing; the bank debits an account')
  if (!isIban(account.number.reveal())) return misfit('account.number', 'is no IBAN with a right checksum')
  // A payout needs no mandate.
  if (operation === 'CREDIT') return undefined
  if (!account.mandateId) return misfit('mandateId', 'is missing; a debit needs the number of its mandate')
  if (!account.dateOfSignature)
    return misfit('dateOfSignature', 'is missing; a debit needs the day of its mandate')
  return findLateSignature(account, at)
}

/**
 * A mandate must be signed before it is used. One day of tolerance: it may already be tomorrow in the customer's time
 * zone.
 */
const findLateSignature = (
  { dateOfSignature }: { readonly dateOfSignature?: unknown },
  at: Date,
): FieldMisfit | undefined =>
  typeof dateOfSignature === 'string' && toIsoDay(dateOfSignature) > addDays(dayOf(at), 1)
    ? misfit('dateOfSignature', 'lies in the future; a mandate must be signed before it is used')
    : undefined

function lookUp(inquiry: Inquiry, settings: BankSettings): AuthorizationOutcome['authorization'] {
  const approved: Outcome = { kind: 'approved', provider: { echo: echoOf(inquiry) } }
  switch (inquiry.operation) {
    case 'CAPTURE':
    case 'REFUND':
    case 'CREDIT':
      return queued({ ...inquiry, at: inquiry.sentAt }, settings)
    default:
      return isIncoming(inquiry.payment.method.type) ? instruct(inquiry, settings, inquiry.sentAt) : approved
  }
}

const instruct = (
  request: Pick<OperationRequest, 'reference' | 'amount'>,
  { creditorIban, creditorName }: BankSettings,
  at: Date,
): AuthorizationOutcome['authorization'] => {
  const deadline = new Date(at.getTime() + transferDays * dayMs)
  const reference = creditorReference(request.reference)
  return {
    kind: 'action',
    action: {
      type: 'instructions',
      instructions: { reference, iban: creditorIban, accountHolderName: creditorName, deadline },
    },
    provider: { echo: echoOf(request) },
  }
}

/** 30 days, the usual term of invoices. The merchant's expirationTime takes precedence. */
const transferDays = 30
const dayMs = 24 * 60 * 60 * 1000

const letters = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

/**
 * The reference that the customer writes into the transfer: a creditor reference (ISO 11649), whose check digits let
 * banks detect typing errors. It is derived from our reference, so it is always the same for one payment.
 */
export function creditorReference(reference: XId): string {
  const digest = createHash('sha256').update(`creditor reference ${reference}`).digest()
  const body = [...digest.subarray(0, 12)].map(byte => letters[byte % letters.length]).join('')
  let rest = 0
  for (const character of `${body}RF00`) {
    const value = Number.parseInt(character, 36)
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97
  }
  return `RF${String(98 - rest).padStart(2, '0')}${body}`
}
