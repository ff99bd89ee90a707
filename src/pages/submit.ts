/** One submitted form: read, tried once, and answered by where the payment stands then. */
import type { PageAnswer, PageRequest } from '#http/page-routes.ts'
import { countDeclines, offerFor } from '#lifecycle/attempt.ts'
import { lastOperation } from '#lifecycle/payment.ts'
import { formOf } from '#methods/offer.ts'
import { attemptPayment } from '#operations/attempt.ts'
import { explainDecline } from '#pages/decline-text.ts'
import { type Desk, isOpenForm } from '#pages/desk.ts'
import { type FilledIn, readEntries } from '#pages/entries.ts'
import { type Hosted, type PageDeps, stageOf } from '#pages/hosted.ts'
import type { Limits } from '#pages/limits.ts'

export interface Submission {
  readonly request: PageRequest
  readonly hosted: Hosted
}

export async function submitForm(
  { request, hosted }: Submission,
  { desk, limits, deps }: { readonly desk: Desk; readonly limits: Limits; readonly deps: PageDeps },
): Promise<PageAnswer> {
  if (!isOpenForm(hosted)) return desk.goOn(request, hosted)
  const { merchant, payment, now } = hosted
  const entered = request.form ?? {}
  const { texts } = desk.frame(request, hosted).language
  const method = offerFor(payment, merchant.methods).find(({ type }) => type === entered.type)
  if (!method) return desk.refuse(request, hosted, { message: texts.pageOutdated, entered })
  const { entry, errors } = readEntries(formOf(method), entered, { texts, now })
  if (errors) return desk.refuse(request, hosted, { errors, entered, chosen: method.type })
  const keys = limitKeys(request, hosted, entry)
  if (!limits.allows(keys)) return desk.deadEnd(request, 'slowDown', hosted)
  const result = await attemptPayment(
    {
      merchant,
      payId: payment.payId,
      method,
      card: entry.card && { ...entry.card, threeDs: { ...preferencesOf(hosted).threeDsPolicy } },
      account: entry.account,
      // Not a number: then it is no version of any payment either, and the form is out of date.
      seenVersion: Number(entered.attempt),
    },
    deps.engine,
  )
  const after = await desk.reopen(hosted)
  if (countDeclines(after.payment) > countDeclines(payment)) limits.countDecline(keys)
  if (stageOf(after) !== 'form') return desk.goOn(request, after)
  const message =
    result === 'stale' ? texts.pageOutdated : explainDecline(lastOperation(after.payment).responseCode, texts)
  return desk.refuse(request, after, { message, entered, chosen: method.type })
}

/** Counted by address, and by what may be known of the card: its first six and last four digits. */
function limitKeys({ address }: PageRequest, { merchant }: Hosted, { card }: FilledIn): readonly string[] {
  const number = card?.number.reveal()
  const masked = number && `card ${merchant.merchantId} ${number.slice(0, 6)} ${number.slice(-4)}`
  return [`address ${address}`, ...(masked ? [masked] : [])]
}

/** What the merchant said about cards when it asked for the page. */
const preferencesOf = ({ payment }: Hosted): { readonly threeDsPolicy?: object } =>
  (payment.details.methodFields ?? {}) as { threeDsPolicy?: object }
