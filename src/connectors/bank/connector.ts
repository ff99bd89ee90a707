/**
 * The bank as a provider. It makes no calls: an authorisation is a complete mandate on an account with a valid
 * checksum, and operations that move money are pending until the next file and the bank's report. Files are made and
 * read by commands.
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
    // An awaited transfer is known only here, so ending it needs no call.
    cancelAction: async inquiry => ({
      kind: 'declined',
      detail: '0704',
      provider: { echo: echoOf(inquiry) },
    }),
    // On our page the customer gives the account and agrees to the mandate later.
    findMisfit({ payment, operation, account, at }) {
      if (isIncoming(payment.method.type)) return undefined
      return payment.integrationType === 'HOSTED'
        ? findLateSignature(payment.methodFields ?? {}, at)
        : findMisfit({ operation, account, at })
    },
    findCaptureMisfit: findLateSignature,
    // Only a crash of our own process can lose an answer here: a recorded request was complete.
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

/** The money moves with the next file; a debit is announced for its day. */
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

/** The first field that a debit lacks, by its name in the request; undefined: the mandate is complete. */
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

/** A mandate allows nothing before it is signed. In the customer's time zone it may already be tomorrow. */
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

/** 30 days: what invoices commonly allow; the merchant's own expirationTime wins. */
const transferDays = 30
const dayMs = 24 * 60 * 60 * 1000

const letters = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

/**
 * What the customer writes into the transfer: a creditor reference (ISO 11649), whose check digits let banks detect
 * typing errors. It is derived from our own reference, so that it is always the same.
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
