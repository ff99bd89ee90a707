/**
 * What a capture says about the rest of the authorisation. Each method has its own field for it; the rules need one
 * value.
 */
import type { CaptureRequest } from '#schemas/follow-ups.ts'

/** `closed`: no further capture, the rest lapses by itself. `reversed`: the rest is given back at once. */
export type RestAfterCapture = 'open' | 'closed' | 'reversed'

export function readRest(sent: CaptureRequest['paymentMethods']): RestAfterCapture {
  if (sent?.providerK?.completeType === 'YES') return 'reversed'
  const isClosed =
    sent?.card?.finishAuth === true ||
    sent?.providerM?.finishAuth === 'Y' ||
    sent?.providerP?.completeType === true
  return isClosed ? 'closed' : 'open'
}
