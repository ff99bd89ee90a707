/** Translates the customer's next action into a redirect or into instructions that our page shows. */
import type { AuthorizationOutcome, CustomerActionOutcome, Instructions } from '#connectors/contract.ts'
import { dateAt, listAt, textAt, type Wire, wireAt } from '#connectors/stripe/translate/wire.ts'
import { entryOf } from '#domain/json.ts'

type Provider = CustomerActionOutcome['provider']

/** An action that our page cannot show is pending: Stripe's page showed it, or the customer's banking app does. */
export function actionOf(intent: Wire, provider: Provider): AuthorizationOutcome['authorization'] {
  const next = wireAt(intent, 'next_action')
  const type = textAt(next, 'type')
  const url = type === undefined ? undefined : addressAt(next, type)
  if (url !== undefined) {
    const challenge =
      type === 'redirect_to_url' && textAt(next, 'redirect_to_url', 'return_url') !== undefined
    return {
      kind: 'action',
      action: {
        type: 'redirect',
        url,
        verb: 'GET',
        ...(challenge && isCard(intent) ? { challenge: true } : {}),
      },
      provider,
    }
  }
  const instructions = type === undefined ? undefined : instructionsAt(next, type)
  return instructions === undefined
    ? { kind: 'pending', provider }
    : { kind: 'action', action: { type: 'instructions', instructions }, provider }
}

function isCard(intent: Wire): boolean {
  const types = intent.payment_method_types
  return Array.isArray(types) && types[0] === 'card'
}

/** The members that hold the address to open, for each type of action. */
const addresses: Readonly<Record<string, readonly string[]>> = {
  redirect_to_url: ['url'],
  alipay_handle_redirect: ['url'],
  cashapp_handle_redirect_or_display_qr_code: ['mobile_auth_url', 'hosted_instructions_url'],
  swish_handle_redirect_or_display_qr_code: ['hosted_instructions_url', 'mobile_auth_url'],
  upi_handle_redirect_or_display_qr_code: ['hosted_instructions_url'],
  klarna_display_qr_code: ['hosted_instructions_url'],
  verify_with_microdeposits: ['hosted_verification_url'],
}

const addressAt = (next: Wire | undefined, type: string): string | undefined =>
  entryOf(addresses, type)
    ?.map(name => textAt(next, type, name))
    .find(url => url !== undefined)

const readers: Readonly<Record<string, (details: Wire) => Instructions>> = {
  multibanco_display_details: details => ({
    ...voucherOf(details),
    entity: textAt(details, 'entity'),
    reference: textAt(details, 'reference'),
  }),
  boleto_display_details: details => ({
    ...voucherOf(details),
    reference: textAt(details, 'number'),
    barcode: textAt(details, 'number'),
    downloadUrl: textAt(details, 'pdf') ?? textAt(details, 'hosted_voucher_url'),
  }),
  oxxo_display_details: details => ({
    ...voucherOf(details),
    reference: textAt(details, 'number'),
    barcode: textAt(details, 'number'),
    deadline: dateAt(details, 'expires_after'),
  }),
  konbini_display_details: details => ({ ...voucherOf(details), reference: konbiniNumber(details) }),
  pix_display_qr_code: qrCodeOf,
  paynow_display_qr_code: qrCodeOf,
  promptpay_display_qr_code: qrCodeOf,
  wechat_pay_display_qr_code: qrCodeOf,
  display_bank_transfer_instructions: transferOf,
}

function instructionsAt(next: Wire | undefined, type: string): Instructions | undefined {
  const details = wireAt(next, type)
  return details === undefined ? undefined : entryOf(readers, type)?.(details)
}

const voucherOf = (details: Wire): Instructions => ({
  downloadUrl: textAt(details, 'hosted_voucher_url'),
  deadline: dateAt(details, 'expires_at'),
})

function qrCodeOf(details: Wire): Instructions {
  return {
    qrCode: textAt(details, 'data'),
    downloadUrl: textAt(details, 'hosted_instructions_url'),
    deadline: dateAt(details, 'expires_at'),
  }
}

/** Each chain of shops has its own number; the first one present is shown. */
function konbiniNumber(details: Wire): string | undefined {
  const stores = wireAt(details, 'stores')
  return ['seven_eleven', 'familymart', 'lawson', 'ministop', 'seicomart']
    .map(store => textAt(stores, store, 'payment_code') ?? textAt(stores, store, 'confirmation_number'))
    .find(number => number !== undefined)
}

function transferOf(details: Wire): Instructions {
  const iban = listAt(details, 'financial_addresses')
    .map(address => wireAt(address, 'iban'))
    .find(account => account !== undefined)
  return {
    reference: textAt(details, 'reference'),
    iban: textAt(iban, 'iban'),
    bic: textAt(iban, 'bic'),
    accountHolderName: textAt(iban, 'account_holder_name'),
    downloadUrl: textAt(details, 'hosted_instructions_url'),
  }
}
