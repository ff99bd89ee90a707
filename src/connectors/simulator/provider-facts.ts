/**
 * Ids, codes and texts like an acquirer's, all derived from the reference, so that an inquiry returns the same ones.
 */
import { hash } from 'node:crypto'
import type { Inquiry } from '#connectors/contract.ts'
import type { ThreeDsBehaviour } from '#connectors/simulator/authentication-numbers.ts'
import { providerText } from '#domain/response-codes.ts'
import type { ProviderFacts } from '#lifecycle/outcome.ts'

export type Asked = Pick<
  Inquiry,
  'operation' | 'reference' | 'amount' | 'payment' | 'captureReference' | 'kept'
>

/** Through a binary string, because `hash` with a buffer takes twice as long. */
const digestOf = (text: string): Buffer => Buffer.from(hash('sha256', text, 'binary'), 'binary')

export function toProviderFacts(asked: Asked, detail: string | undefined): ProviderFacts {
  const { reference, amount } = asked
  const { method } = asked.payment
  const digest = digestOf(reference)
  const transactionId = `sim${digest.toString('hex', 0, 10)}`
  const approved = detail === undefined
  const responseCode = approved ? '00' : detail.slice(-2)
  const fields = {
    ...fieldsByKey[method.key]?.({ asked, digest, approved }),
    ...threeDsFields(asked, digest),
  }
  return {
    echo: { reference, amount },
    transactionId,
    responseCode,
    ...(approved ? {} : { responseText: providerText(responseCode) }),
    ...(approved
      ? {
          // Six digits without a leading zero, because the API shows a number.
          approvalCode: 100_000 + (digest.readUInt32BE(10) % 900_000),
          schemeReferenceId: digits(digest, 16, 15),
        }
      : {}),
    ...(Object.keys(fields).length > 0 ? { fields } : {}),
  }
}

/** The facts about a returned debit, with a transaction id of its own. */
export function toReturnFacts(asked: Asked, detail: string): ProviderFacts {
  const { reference, amount } = asked
  const transactionId = `sim${hash('sha256', `return ${reference}`, 'hex').slice(0, 20)}`
  return { echo: { reference, amount }, transactionId, responseCode: detail.slice(-2) }
}

/** The facts before a voucher or transfer is paid, with the data that the customer needs. */
export function toInstructions(asked: Asked, step: string): ProviderFacts {
  const { reference, amount } = asked
  const { method } = asked.payment
  const digest = digestOf(reference)
  const shown =
    step === 'instructions'
      ? { paymentReference: voucherNumber(digest), ...(method.flow === 'transfer' ? { account: payee } : {}) }
      : undefined
  // Of the fields that come with an approval, only these are known before it.
  const { paymentReference, account } = fieldsByKey[method.key]?.({ asked, digest, approved: true }) ?? {}
  return { echo: { reference, amount }, fields: { paymentReference, account, ...shown } }
}

/** Nine digits in groups of three, to be read out at a till. */
const voucherNumber = (digest: Buffer): string =>
  digits(digest, 8, 9).replace(/(\d{3})(\d{3})(\d{3})/, '$1 $2 $3')

/** The account to which transfers of the test environment go. */
const payee = {
  bankName: 'Simulated Bank',
  code: 'SIMUDEFFXXX',
  number: 'DE89370400440532013000',
  accountHolderName: 'Tollgate Simulator',
}

/** transStatus for the card's behaviour: Y authenticated, A attempted, U not possible, N refused. */
const statuses: Readonly<Record<string, 'Y' | 'A' | 'U' | 'N'>> = {
  challenge: 'Y',
  frictionless: 'Y',
  attempted: 'A',
  not_enrolled: 'U',
  failed: 'N',
}

/** The ECI of the payment. Mastercard and Maestro count up from 0, all other brands count down from 7. */
export function eciOf(behaviour: ThreeDsBehaviour, brand: string): string {
  const strength = { Y: 2, A: 1, U: 0, N: 0 }[statuses[behaviour] ?? 'N']
  return brand === 'mastercard' || brand === 'maestro' ? `0${strength}` : `0${7 - strength}`
}

function threeDsFields({ operation, kept = {} }: Asked, digest: Buffer): Record<string, unknown> {
  const status = statuses[String(kept.threeDs)]
  if (!status || (operation !== 'AUTHORIZATION' && operation !== 'CONFIRM')) return {}
  const declined = kept.threeDs === 'challenge' && kept.decline !== undefined
  const uuid = (at: number): string =>
    digest.toString('hex', at, at + 16).replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  return {
    threeDsData: {
      acsProtocolVersion: '2.2.0',
      transStatus: declined ? 'N' : status,
      // A failed authentication has no ECI.
      eci: declined ? undefined : kept.eci,
      threeDSServerTransId: uuid(0),
      dsTransId: uuid(16),
    },
  }
}

const digits = (digest: Buffer, at: number, length: number): string =>
  (digest.readBigUInt64BE(at) % 10n ** BigInt(length)).toString().padStart(length, '0')

interface FieldContext {
  readonly asked: Asked
  readonly digest: Buffer
  readonly approved: boolean
}

/** 2.9 %: the simulated wallet's fee for a refund, rounded down to whole units. */
const feePermille = 29

const declineCategory = 'PAYER_ACTION_REQUIRED'

/** Additional fields of methods, by the key of the method's object. */
const fieldsByKey: Readonly<Record<string, (context: FieldContext) => Record<string, unknown>>> = {
  providerK: ({ digest }) => ({
    invoiceNumber: `K${digits(digest, 8, 9)}`,
    billingAgreementId: `BA-${digest.toString('hex', 4, 12)}`,
    redirectUrl: `https://provider-k.example/cookie/${digest.toString('hex', 0, 8)}`,
  }),
  providerP: ({ asked: { amount }, approved }) => {
    const gross = amount.value
    const fee = (gross * feePermille - ((gross * feePermille) % 1000)) / 1000
    return {
      grossRefundAmount: gross,
      feeRefundAmount: fee,
      netRefundAmount: gross - fee,
      ...(approved ? {} : { providerDeclineCategory: declineCategory }),
    }
  },
  providerT: ({ approved, asked: { payment, kept } }) => ({
    // One reference per payment: the customer has it on the transfer before anything is captured.
    paymentReference: `T${digits(digestOf(payment.payId), 8, 10)}`,
    ...(kept?.transferType === 'BANK_TRANSFER'
      ? {
          account: {
            ...payee,
            accountHolderName: 'Provider T Collections',
          },
        }
      : {}),
    ...(approved ? {} : { providerDeclineCategory: declineCategory }),
  }),
  providerZ: ({ asked: { operation, captureReference, payment }, digest, approved }) => {
    // One charge permission per payment; its charges and refunds have ids below it. A refund names its charge.
    const permission = digestOf(payment.payId)
    const charge = operation === 'REFUND' && captureReference ? digestOf(captureReference) : digest
    const chargePermissionId = `S01-${digits(permission, 0, 7)}-${digits(permission, 8, 7)}`
    return {
      providerStatus: approved ? 'Completed' : 'Declined',
      chargePermissionId,
      chargeId: `${chargePermissionId}-C${digits(charge, 16, 6)}`,
      refundId: `${chargePermissionId}-R${digits(digest, 16, 6)}`,
    }
  },
}
