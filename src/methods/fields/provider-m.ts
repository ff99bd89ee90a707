/** Provider M: a mobile wallet with a card behind it. */
import { refundedCapture } from '#methods/fields/other-refunds.ts'
import { choice, closed, freeTextMax, optional, text } from '#schemas/parts/fields.ts'

/** With the same limits as cardholder names and cities elsewhere. */
const holder = {
  textfield1: optional(text(45, 'Name of the cardholder.', { sensitive: true })),
  textfield2: optional(text(64, 'City of the cardholder.')),
}

export const providerMCapture = closed(
  {
    finishAuth: optional(choice(['Y', 'N'], 'Y ends the authorisation with this capture.')),
    ...holder,
  },
  { title: 'ProviderMCapture', description: 'What a capture with provider M may say.' },
)

export const providerMRefund = closed(
  { ...refundedCapture, ...holder },
  { title: 'ProviderMRefund', description: 'Which capture is refunded, and whose card gets the money back.' },
)

/**
 * 16 KiB: four times the largest wallet payload, including certificates. The text is passed on unchanged, because the
 * wallet has signed or encrypted it.
 */
const payloadMax = 16_384

export const providerMWallet = closed(
  {
    merchantIdentifierOfPublicKey: optional(
      text(freeTextMax, 'Names the key that the payload was encrypted for.', { minLength: 1 }),
    ),
    token: optional(text(payloadMax, "The wallet's payload: JSON text of an object.", { sensitive: true })),
  },
  { title: 'ProviderMWallet', description: "What the wallet on the customer's phone hands over." },
)
