/**
 * Asks the card schemes for updates of many cards, slice by slice: store the cards in the vault, ask, store the
 * updates. A slice is finished before its results are returned, so the list may be of any length. Repeating a slice is
 * harmless.
 */
import type { CardUpdate, Connector } from '#connectors/contract.ts'
import { isPseudoCardNumber } from '#domain/cards/card-numbers.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Secret } from '#domain/secret.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import type { LookUps } from '#operations/look-ups.ts'
import { keepCards } from '#operations/payments/keep-cards.ts'
import type { KeptCard } from '#storage/vault/card-book.ts'
import type { AdmittedCard } from '#vault/cards.ts'

export type AskedCard =
  | {
      readonly reference?: string
      /** A card number or a pseudo card number. */
      readonly number: Secret<string>
      readonly expiryDate?: string
    }
  | {
      readonly reference?: string
      readonly number?: undefined
      readonly gatewayCustomerId: string
      readonly paymentMethodId: string
    }

export interface UpdateResult {
  readonly reference?: string
  readonly pseudoCardNumber?: string
  readonly updateStatus: CardUpdate['status']
  readonly newPseudoCardNumber?: string
  readonly newExpiryDate?: string
  readonly last4Digits?: string
  readonly brand?: string
}

export type UpdateNeeds = Pick<LookUps, 'cards' | 'storedMethods'> &
  Pick<Engine, 'vault' | 'onAlarm' | 'clock'>

export interface UpdateRun {
  readonly merchant: Merchant
  readonly cards: readonly AskedCard[]
  readonly ask: NonNullable<Connector['updateCards']>
}

/** 500: one statement has about 100 KB of parameters, and the longest list of a request is twenty slices. */
const sliceLength = 500

/** The results in the order of the request, a slice at a time. */
export async function* updateCards(
  { merchant, cards, ask }: UpdateRun,
  needs: UpdateNeeds,
): AsyncGenerator<readonly UpdateResult[]> {
  for (let start = 0; start < cards.length; start += sliceLength) {
    yield await updateSlice({ merchant, cards: cards.slice(start, start + sliceLength), ask }, needs)
  }
}

/** A card that the vault holds. */
interface Known {
  readonly card: AdmittedCard
  readonly kept: KeptCard
}

async function updateSlice(
  { merchant, cards, ask }: UpdateRun,
  needs: UpdateNeeds,
): Promise<readonly UpdateResult[]> {
  const admitted = await Promise.all(cards.map(card => admit(card, merchant, needs)))
  const kept = await keepCards(
    merchant,
    admitted.filter(card => card !== undefined),
    needs,
  )
  const known = admitted.map(card => card && withKept(card, kept))
  const asked = known.filter(found => found !== undefined)
  const answers = await askFor(asked, { merchant, ask }, needs)
  const news = await storeUpdates(asked, answers, merchant, needs)
  return cards.map((card, index) => {
    const found = known[index]
    const result = found && news.get(found)
    return { reference: card.reference, ...(result ?? unknown(card)) }
  })
}

const withKept = (card: AdmittedCard, kept: ReadonlyMap<string, KeptCard>): Known | undefined => {
  const row = kept.get(card.cardId)
  return row && { card, kept: row }
}

/**
 * The result echoes a pseudo number that the merchant does not have, because it identifies no card. It never echoes a
 * card number.
 */
function unknown(card: AskedCard): UpdateResult {
  const number = card.number?.reveal()
  const pseudoCardNumber = number !== undefined && isPseudoCardNumber(number) ? number : undefined
  return { pseudoCardNumber, updateStatus: 'NOT_FOUND' }
}

async function admit(
  asked: AskedCard,
  { merchantId }: Merchant,
  { vault, storedMethods }: UpdateNeeds,
): Promise<AdmittedCard | undefined> {
  if (asked.number) return vault.admit(merchantId, asked.number, { expiryDate: asked.expiryDate })
  const { gatewayCustomerId, paymentMethodId } = asked
  const stored = await storedMethods.find(merchantId, { gatewayCustomerId, paymentMethodId })
  const number = stored && (await vault.reopen(merchantId, stored.cardId))
  return number && vault.admit(merchantId, number, { expiryDate: stored.expiryDate })
}

const failed: CardUpdate = { status: 'FAILED' }

/** After any error the cards are unchanged, and the caller may ask again. */
async function askFor(
  known: readonly Known[],
  { merchant, ask }: Pick<UpdateRun, 'merchant' | 'ask'>,
  { onAlarm }: UpdateNeeds,
): Promise<readonly CardUpdate[]> {
  const questions = known.map(({ card, kept }) => ({
    number: card.number,
    expiryDate: card.expiryDate ?? kept.expiryDate,
  }))
  try {
    const answers =
      questions.length > 0 ? await within(askTimeoutMs, ask(merchant.merchantId, questions)) : []
    if (answers.length === questions.length) return answers
    onAlarm({
      code: 'ANSWER_MISMATCH',
      message: `the account updater was asked about ${questions.length} cards and answered for ${answers.length}; none was updated`,
    })
  } catch (error) {
    onAlarm({
      code: 'CONNECTOR_THREW',
      message: 'the account updater of a connector threw an error; no card was updated',
      error,
    })
  }
  return known.map(() => failed)
}

/** 20 s: as for every other call to a provider. */
const askTimeoutMs = 20_000

async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`the account updater did not answer within ${limitMs} ms`)),
      limitMs,
    )
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/** New cards go into the vault, new dates to the card, and both to the stored methods that hold it. */
async function storeUpdates(
  known: readonly Known[],
  answers: readonly CardUpdate[],
  merchant: Merchant,
  needs: UpdateNeeds,
): Promise<ReadonlyMap<Known, UpdateResult>> {
  const { merchantId } = merchant
  const news = await Promise.all(
    known.map(async (found, index): Promise<News> => {
      const answer = answers[index] ?? failed
      if (answer.status !== 'CARD_UPDATED') return { found, answer }
      const { number, expiryDate } = answer
      return { found, answer, successor: await needs.vault.admit(merchantId, number, { expiryDate }) }
    }),
  )
  const successors = news.flatMap(({ successor }) => successor ?? [])
  const kept = await keepCards(merchant, successors, needs)
  // One after the other: all at once they would take every connection on which payments are written.
  for (const one of news) await updateStoredMethods(one, merchant, needs)
  return new Map(news.map(one => [one.found, toResult(one, kept)]))
}

interface News {
  readonly found: Known
  readonly answer: CardUpdate
  readonly successor?: AdmittedCard
}

async function updateStoredMethods(
  { found: { card }, answer, successor }: News,
  merchant: Merchant,
  { cards, storedMethods, clock }: UpdateNeeds,
): Promise<void> {
  if (answer.status !== 'CARD_UPDATED' && answer.status !== 'EXPIRY_UPDATED') return
  const { cardId, first6Digits, last4Digits, brand } = successor ?? card
  const { expiryDate } = answer
  const { merchantId } = merchant
  if (expiryDate !== undefined) await cards.renew(merchantId, cardId, expiryDate)
  const now = merchantNow(clock, merchant)
  const by = { cardId, first6Digits, last4Digits, brand, expiryDate, now }
  await storedMethods.replaceCard(merchantId, card.cardId, by)
}

function toResult(
  { found: { card, kept }, answer, successor }: News,
  successors: ReadonlyMap<string, KeptCard>,
): UpdateResult {
  const { last4Digits, brand } = successor ?? card
  return {
    pseudoCardNumber: kept.pseudoNumber,
    updateStatus: answer.status,
    newPseudoCardNumber: successor && successors.get(successor.cardId)?.pseudoNumber,
    newExpiryDate: 'expiryDate' in answer ? answer.expiryDate : undefined,
    last4Digits,
    brand,
  }
}
