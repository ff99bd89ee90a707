/** Translates Adyen's other facts about a payment into the names of our payment records. */

import { type Loose, present, recordAt, textAt } from '#connectors/adyen/loose.ts'
import { toProviderToken } from '#connectors/adyen/translate/authorization.ts'
import { entryOf } from '#domain/json.ts'
import type { ProviderFacts } from '#lifecycle/outcome.ts'

export function toFacts(body: unknown): Omit<ProviderFacts, 'echo'> {
  const data = recordAt(body, 'additionalData')
  const approvalCode = textAt(data, 'authCode')
  const refusal = textAt(body, 'refusalReason')
  return {
    ...present({
      transactionId: textAt(body, 'pspReference'),
      responseCode: textAt(body, 'refusalReasonCode'),
      // 255: the limit of our API contract.
      responseText: refusal?.slice(0, 255),
      approvalCode:
        approvalCode !== undefined && /^[0-9]{1,15}$/.test(approvalCode) ? Number(approvalCode) : undefined,
      schemeReferenceId: textAt(data, 'networkTxReference')?.slice(0, 64),
      providerToken: toToken(data),
      fields: present({
        ...toCardFields(body, data),
        threeDsData: toThreeDsData(data),
        mandateId: textAt(data, 'sepadirectdebit.mandateId'),
      }),
    }),
  }
}

/** Adyen's names of brands, where they differ from ours. */
const brands: Readonly<Record<string, string>> = { mc: 'mastercard', cup: 'unionpay', diners: 'dinersclub' }

/** The masked card, which only Adyen knows if it was entered on Adyen's page. */
function toCardFields(body: unknown, data: Loose | undefined): Loose {
  const method = recordAt(body, 'paymentMethod')
  const brand = textAt(method, 'type') === 'scheme' ? textAt(method, 'brand') : undefined
  const summary = textAt(data, 'cardSummary')
  const bin = textAt(data, 'cardBin')
  const [, month = '', year] = /^([0-9]{1,2})\/([0-9]{4})$/.exec(textAt(data, 'expiryDate') ?? '') ?? []
  return {
    brand: brand === undefined ? undefined : (entryOf(brands, brand) ?? brand),
    last4Digits: summary !== undefined && /^[0-9]{4}$/.test(summary) ? summary : undefined,
    first6Digits: bin !== undefined && /^[0-9]{6}/.test(bin) ? bin.slice(0, 6) : undefined,
    expiryDate: year === undefined ? undefined : `${year}${month.padStart(2, '0')}`,
  }
}

function toThreeDsData(data: Loose | undefined): Loose | undefined {
  const transStatus = textAt(data, 'threeDAuthenticatedResponse')
  return present({
    acsProtocolVersion: textAt(data, 'threeDSVersion'),
    eci: textAt(data, 'eci'),
    dsTransId: textAt(data, 'dsTransID'),
    transStatus: transStatus !== undefined && /^[YANUCRDIS]$/.test(transStatus) ? transStatus : undefined,
  })
}

function toToken(data: Loose | undefined): string | undefined {
  const id = textAt(data, 'tokenization.storedPaymentMethodId')
  const shopper = textAt(data, 'tokenization.shopperReference')
  return id === undefined || shopper === undefined ? undefined : toProviderToken(id, shopper)
}
