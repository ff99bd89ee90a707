/** Handles one submitted form: reads it, makes at most one try, and answers with the payment's current page. */
import type { CardData } from '#connectors/contract.ts'
import { maskCard } from '#domain/cards/card-numbers.ts'
import { isRecord, memberOf } from '#domain/json.ts'
import type { PageAnswer, PageRequest } from '#http/server/page-routes.ts'
import { countDeclines } from '#lifecycle/attempt.ts'
import { lastOperation } from '#lifecycle/payment.ts'
import { beginsPlan } from '#lifecycle/plans/plan.ts'
import type { KnownCard } from '#methods/card-form.ts'
import type { Method } from '#methods/rows.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { UnknownPseudoNumber } from '#operations/payments/admit.ts'
import { type AttemptResult, attemptPayment } from '#operations/payments/customer-pages/attempt.ts'
import { isCountedFor, type Tried } from '#operations/payments/velocity.ts'
import type { OfferReply } from '#operations/quotes/redeem-quote.ts'
import { askForCurrency, readShownOffer, type ShownOffer, toReply } from '#pages/currency.ts'
import { type FilledIn, notRemembered, readEntries } from '#pages/entries.ts'
import { type Hosted, type PageDeps, recurringTerms, stageOf } from '#pages/hosted.ts'
import { declineKeys, type Limits } from '#pages/limits.ts'
import { isOpenForm, type PageContext, wantsJson } from '#pages/page-context.ts'
import type { FormState } from '#pages/show.ts'
import { explainDecline, nameBrands, payingOffer } from '#pages/show.ts'
import type { Texts } from '#pages/texts/en.ts'
import type { FieldErrors } from '#pages/views/field.ts'
import { consentMissing } from '#pages/views/plan-terms.ts'

export interface Submission {
  readonly request: PageRequest
  readonly hosted: Hosted
}

export interface Counter {
  readonly pageContext: PageContext
  /** Limits on declines, and on offers to pay in another currency. */
  readonly limits: Limits
  readonly offers: Limits
  readonly deps: PageDeps
}

export async function submitForm({ request, hosted }: Submission, counter: Counter): Promise<PageAnswer> {
  const { pageContext } = counter
  if (!isOpenForm(hosted)) return pageContext.redirectToNextStep(request, hosted)
  const entered = request.form ?? {}
  const frame = pageContext.frame(request, hosted)
  const { texts } = frame.language
  const outdated = { title: texts.errorSummary, message: texts.pageOutdated, entered }
  const offer = hosted.offered.find(({ method }) => method.type === entered.type)
  if (!offer) return pageContext.refuse(request, hosted, outdated)
  const chosen = offer.method.type
  const reading = readEntries(offer.form, entered, { texts, hosted })
  if (reading === notRemembered) return pageContext.refuse(request, hosted, { ...outdated, chosen })
  const { entry } = reading
  // A form that stands for several brands is sent with the first of them; the card decides.
  const paid = entry?.card ? payingOffer(toKnownCard(entry.card, hosted), hosted) : offer
  const misfit = paid ? undefined : { number: nameBrands(hosted, frame) ?? texts.cardNumberWrong }
  const errors = withConsent(reading.errors ?? misfit, { hosted, entered, texts })
  if (errors || !entry || !paid) return pageContext.refuse(request, hosted, { errors, entered, chosen })
  const { method } = paid
  const done = await tryWithinLimits({ request, hosted }, { method, entry }, counter)
  if ('status' in done) return done
  const { result, after } = done
  if (stageOf(after) !== 'form') return pageContext.redirectToNextStep(request, after)
  if (result === 'stale') return pageContext.refuse(request, after, { ...outdated, chosen })
  const message = explainDecline(lastOperation(after.payment).responseCode, texts)
  const state = { message, entered, chosen }
  // The choice made before is kept, like all other entries.
  const shown = entry.card && readShownOffer(entered)
  const asked = shown && (await askForCurrency({ request, hosted: after, entry, state, shown }, counter))
  return asked ?? pageContext.refuse(request, after, state)
}

/** A stored card is entered as its pseudo number, which tells no brand. */
function toKnownCard({ number }: CardData, { remembered }: Hosted): KnownCard {
  const entered = number.reveal()
  return remembered.find(({ pseudoCardNumber }) => pseudoCardNumber === entered) ?? { number: entered }
}

interface Done {
  readonly result: AttemptResult | undefined
  readonly after: Hosted
}

/**
 * Makes the try unless a limit forbids it. A decline is counted before the next try of the same card or address begins,
 * or many forms that are sent at the same moment would all be tried before the first of them is counted.
 */
async function tryWithinLimits(
  { request, hosted }: Submission,
  { method, entry }: Choice,
  counter: Counter,
): Promise<Done | PageAnswer> {
  const { pageContext, limits } = counter
  const { merchant, payment } = hosted
  const { velocity, vault, clock } = counter.deps.engine
  const tried = await toTried(request, hosted, { entry, vault })
  const number = entry.card?.number.reveal()
  const card = number === undefined ? undefined : maskCard(number)
  const keys = declineKeys({ ...merchant, address: request.address, cardId: tried.cardId, card })
  const now = merchantNow(clock, merchant)
  const tryNow = async (): Promise<Done | PageAnswer> => {
    if (!limits.allows(keys) || velocity.blocks(merchant, tried, now))
      return slowDown({ request, hosted }, { pageContext, chosen: method.type })
    const result = await tryInCurrency({ request, hosted }, { method, entry }, counter)
    if (typeof result === 'object') return result
    const after = await pageContext.reopen(hosted)
    // Another tab's decline, which has made this form outdated, was counted there.
    if (result === 'done' && countDeclines(after.payment) > countDeclines(payment)) {
      limits.count(keys)
      // The card was counted with the outcome; only here is the address known, unless the merchant has named it.
      if (!isCountedFor(after.payment, request.address))
        await velocity.countDecline(merchant, tried, now, 'ADDRESS')
    }
    return { result, after }
  }
  return limits.inTurn(keys, () => velocity.inTurn(merchant, tried, tryNow))
}

/** A plan begins only where the customer has agreed to its charges. */
function withConsent(
  errors: FieldErrors | undefined,
  { hosted, entered, texts }: { hosted: Hosted; entered: Readonly<Record<string, string>>; texts: Texts },
): FieldErrors | undefined {
  const { payment } = hosted
  if (!beginsPlan(payment.details) || entered.planConsent === 'yes') return errors
  const isScheduled = recurringTerms(payment) !== undefined
  return { ...errors, planConsent: consentMissing({ isScheduled }, texts) }
}

interface Choice {
  readonly method: Method
  readonly entry: FilledIn
}

/**
 * Asks for the currency first if there is a choice and the customer has not made it. If the offer has expired or was
 * made for another card, the customer is asked again. A customer who accepted an offer that no longer exists must see
 * the new amount before paying.
 */
async function tryInCurrency(
  { request, hosted }: Submission,
  choice: Choice,
  { pageContext, offers, deps }: Counter,
): Promise<AttemptResult | PageAnswer | undefined> {
  const { texts } = pageContext.frame(request, hosted).language
  const entered = request.form ?? {}
  const shown = choice.entry.card && readShownOffer(entered)
  const reply = toReply(shown)
  const state = { entered, chosen: choice.method.type }
  const ask = (why: FormState, kept?: ShownOffer) =>
    askForCurrency(
      { request, hosted, entry: choice.entry, state: { ...state, ...why }, shown: kept },
      { pageContext, offers, deps },
    )
  if (!reply) {
    const why = shown ? { errors: { dcc: texts.currencyMissing } } : {}
    // An outdated form is reported first: do not ask about an amount that the customer has not seen.
    const asked = seenVersion(request) === hosted.payment.version ? await ask(why, shown) : undefined
    return asked ?? tryOnce({ request, hosted }, choice, deps)
  }
  const result = await tryOnce({ request, hosted }, { ...choice, reply }, deps)
  if (result !== 'quoteNotUsable') return result
  const asked = await ask({ errors: { dcc: texts.currencyAgain } })
  if (asked) return asked
  if (!reply.accepted) return tryOnce({ request, hosted }, choice, deps)
  const gone = { ...state, title: texts.errorSummary, message: texts.pageOutdated, offer: null }
  return pageContext.refuse(request, hosted, gone)
}

async function tryOnce(
  { request, hosted }: Submission,
  { method, entry, reply }: Choice & { readonly reply?: OfferReply },
  { engine }: PageDeps,
): Promise<AttemptResult | undefined> {
  const { merchant, payment } = hosted
  const attempt = {
    merchant,
    payId: payment.payId,
    method,
    card: entry.card && { ...entry.card, threeDs: { ...preferencesOf(hosted).threeDsPolicy } },
    account: entry.account,
    offer: reply && { ...reply, amount: payment.amount },
    keepsCard: entry.keepsCard,
    seenVersion: seenVersion(request),
  }
  try {
    return await attemptPayment(attempt, engine)
  } catch (error) {
    // The remembered card was deleted since the page was opened.
    if (error instanceof UnknownPseudoNumber) return 'stale'
    throw error
  }
}

/** NaN equals no version, so a form without a valid version counts as outdated. */
const seenVersion = ({ form }: PageRequest): number => Number(form?.attempt)

/** With the script the message appears above the form and the entries stay; without it, on a page of its own. */
function slowDown(
  { request, hosted }: Submission,
  { pageContext, chosen }: { readonly pageContext: PageContext; readonly chosen: string },
): PageAnswer {
  if (!wantsJson(request)) return pageContext.deadEnd(request, 'slowDown', hosted)
  const { texts } = pageContext.frame(request, hosted).language
  return pageContext.refuse(request, hosted, {
    title: texts.slowDownTitle,
    message: texts.slowDownText,
    chosen,
  })
}

/** For the merchant's limits on declines, which apply to hosted pages too. */
async function toTried(
  { address }: PageRequest,
  { merchant, remembered }: Hosted,
  { entry, vault }: { readonly entry: FilledIn; readonly vault: Engine['vault'] },
): Promise<Tried> {
  const number = entry.card?.number.reveal()
  const stored = remembered.find(({ pseudoCardNumber }) => pseudoCardNumber === number)
  const cardId = stored?.cardId ?? (number && (await vault.findCardId(merchant.merchantId, number)))
  return { cardId, address }
}

/** The merchant's preferences for cards from the request that created the page. */
function preferencesOf({ payment }: Hosted): { readonly threeDsPolicy?: object } {
  const threeDsPolicy = memberOf(payment.own.methodFields, 'threeDsPolicy')
  return isRecord(threeDsPolicy) ? { threeDsPolicy } : {}
}
