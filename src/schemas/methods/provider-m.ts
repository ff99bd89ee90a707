/** Provider M: a mobile wallet with a card behind it. */
import { choice, closed, optional, text } from '#schemas/fields.ts'

/** The lengths of a card's holder and of a city elsewhere. */
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

export const providerMRefund = closed(holder, {
  title: 'ProviderMRefund',
  description: 'Whose card gets the money back.',
})
