/** One submitted form: read, tried once, and answered by where the payment stands then. */
import type { PageAnswer, PageRequest } from '#http/page-routes.ts'
import { countDeclines, offerFor } from '#lifecycle/attempt.ts'
import { lastOperation } from '#lifecycle/payment.ts'
import { formOf } from '#methods/offer.ts'
import type { Method } from '#methods/rows.ts'
import { type AttemptResult, attemptPayment } from '#operations/attempt.ts'
import { UnknownPseudoNumber } from '#operations/create-payment.ts'
import { explainDecline } from '#pages/decline-text.ts'
import { type Desk, isOpenForm, wantsJson } from '#pages/desk.ts'
import { type FilledIn, notRemembered, readEntries } from '#pages/entries.ts'
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
  const { merchant, payment } = hosted
  const entered = request.form ?? {}
  const { texts } = desk.frame(request, hosted).language
  const outdated = { title: texts.errorSummary, message: texts.pageOutdated, entered }
  const method = offerFor(payment, merchant.methods).find(({ type }) => type === entered.type)
  if (!method) return desk.refuse(request, hosted, outdated)
  const reading = readEntries(formOf(method), entered, { texts, hosted })
  if (reading === notRemembered) return desk.refuse(request, hosted, { ...outdated, chosen: method.type })
  const { entry, errors } = reading
  if (errors) return desk.refuse(request, hosted, { errors, entered, chosen: method.type })
  const keys = limitKeys(request, hosted, entry)
  if (!limits.allows(keys)) return slowDown({ request, hosted }, { desk, chosen: method.type })
  const result = await tryOnce({ request, hosted }, { method, entry }, deps)
  const after = await desk.reopen(hosted)
  if (countDeclines(after.payment) > countDeclines(payment)) limits.countDecline(keys)
  if (stageOf(after) !== 'form') return desk.goOn(request, after)
  if (result === 'stale') return desk.refuse(request, after, { ...outdated, chosen: method.type })
  const message = explainDecline(lastOperation(after.payment).responseCode, texts)
  return desk.refuse(request, after, { message, entered, chosen: method.type })
}

interface Choice {
  readonly method: Method
  readonly entry: FilledIn
}

async function tryOnce(
  { request, hosted }: Submission,
  { method, entry }: Choice,
  { engine }: PageDeps,
): Promise<AttemptResult | undefined> {
  const { merchant, payment } = hosted
  const attempt = {
    merchant,
    payId: payment.payId,
    method,
    card: entry.card && { ...entry.card, threeDs: { ...preferencesOf(hosted).threeDsPolicy } },
    account: entry.account,
    keepsCard: entry.keepsCard,
    // Not a number: then it is no version of any payment either, and the form is out of date.
    seenVersion: Number(request.form?.attempt),
  }
  try {
    return await attemptPayment(attempt, engine)
  } catch (error) {
    // The remembered card was deleted since the page was opened.
    if (error instanceof UnknownPseudoNumber) return 'stale'
    throw error
  }
}

/** The script says it above the form, where what was typed is kept; without it there is a page of its own. */
function slowDown(
  { request, hosted }: Submission,
  { desk, chosen }: { readonly desk: Desk; readonly chosen: string },
): PageAnswer {
  if (!wantsJson(request)) return desk.deadEnd(request, 'slowDown', hosted)
  const { texts } = desk.frame(request, hosted).language
  return desk.refuse(request, hosted, { title: texts.slowDownTitle, message: texts.slowDownText, chosen })
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
