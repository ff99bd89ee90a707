/** Ids, codes and texts that look like an acquirer's. All follow from the reference, so an inquiry finds the same ones. */
import { hash } from 'node:crypto'
import type { Inquiry } from '#connectors/contract.ts'
import { providerText } from '#domain/response-codes.ts'
import type { ProviderFacts } from '#lifecycle/outcome.ts'

export type Asked = Pick<Inquiry, 'operation' | 'reference' | 'amount' | 'method' | 'prepared'>

export function toProviderFacts(asked: Asked, detail: string | undefined): ProviderFacts {
  const { reference, amount, method } = asked
  const digest = hash('sha256', reference, 'buffer')
  const transactionId = `sim${digest.toString('hex', 0, 10)}`
  const approved = detail === undefined
  const responseCode = approved ? '00' : detail.slice(-2)
  const fields = fieldsByKey[method.key]?.({ asked, digest, approved })
  return {
    echo: { reference, amount },
    transactionId,
    responseCode,
    ...(approved ? {} : { responseText: providerText(responseCode) }),
    ...(approved
      ? {
          // Six digits without a leading zero, so that it is the same as a number.
          approvalCode: 100_000 + (digest.readUInt32BE(10) % 900_000),
          schemeReferenceId: digits(digest, 16, 15),
        }
      : {}),
    ...(fields ? { fields } : {}),
  }
}

const digits = (digest: Buffer, at: number, length: number): string =>
  (digest.readBigUInt64BE(at) % 10n ** BigInt(length)).toString().padStart(length, '0')

interface FieldContext {
  readonly asked: Asked
  readonly digest: Buffer
  readonly approved: boolean
}

/** 2.9 %: what the simulated wallet keeps of a refund as its fee. Whole units, rounded down. */
const feePermille = 29

const declineCategory = 'PAYER_ACTION_REQUIRED'

/** What each provider tells besides the usual, by the key of its object. */
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
  providerT: ({ digest, approved, asked: { prepared } }) => ({
    paymentReference: `T${digits(digest, 8, 10)}`,
    ...(prepared.transferType === 'BANK_TRANSFER'
      ? {
          account: {
            bankName: 'Simulated Bank',
            code: 'SIMUDEFFXXX',
            number: 'DE89370400440532013000',
            accountHolderName: 'Provider T Collections',
          },
        }
      : {}),
    ...(approved ? {} : { providerDeclineCategory: declineCategory }),
  }),
  providerZ: ({ digest, approved }) => ({
    providerStatus: approved ? 'Completed' : 'Declined',
    chargeId: `S01-${digits(digest, 0, 7)}-${digits(digest, 8, 7)}-C${digits(digest, 16, 6)}`,
    refundId: `S01-${digits(digest, 0, 7)}-${digits(digest, 8, 7)}-R${digits(digest, 16, 6)}`,
    chargePermissionId: `S01-${digits(digest, 0, 7)}-${digits(digest, 8, 7)}`,
  }),
}
