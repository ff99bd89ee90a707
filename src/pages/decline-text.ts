/** The text a customer sees after a decline: enough to choose the next step, nothing that helps the holder of a stolen card. */
import type { TextKey, Texts } from '#pages/texts/en.ts'

/** By the last four digits of the response code. Lost, stolen and suspected cards deliberately get the same text. */
const byDetail: Readonly<Record<string, TextKey>> = {
  '0314': 'declinedNumber',
  '0333': 'declinedExpired',
  '0351': 'declinedFunds',
  '0354': 'declinedExpired',
  '0361': 'declinedLimit',
  '0365': 'declinedLimit',
  '0391': 'declinedUnreachable',
  '0396': 'declinedUnreachable',
  '0703': 'declinedCancelled',
}

export function explainDecline(responseCode: string, texts: Texts): string {
  const detail = responseCode.slice(-4)
  return texts[Object.hasOwn(byDetail, detail) ? (byDetail[detail] ?? 'declined') : 'declined']
}
