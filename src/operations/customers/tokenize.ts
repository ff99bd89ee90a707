/**
 * Exchanges a card number or an IBAN for its pseudo number at this merchant. The same number gives the same
 * pseudo number, no matter which request was first; the number itself stays in the vault.
 */
import { isCardNumber, isPseudoCardNumber } from '#domain/cards/card-numbers.ts'
import { isPseudoAccountNumber } from '#domain/cards/pseudo-accounts.ts'
import { isIban } from '#domain/iban.ts'
import type { Merchant } from '#domain/merchant.ts'
import type { Refusal } from '#domain/response-codes.ts'
import type { Secret } from '#domain/secret.ts'
import { type Engine, merchantNow } from '#operations/engine.ts'
import { keyRow, type OperationKey, storeRefusal } from '#operations/key.ts'
import type { LookUps } from '#operations/look-ups.ts'
import type { OperationAnswer } from '#operations/payments/answer.ts'
import { CommitRefused } from '#operations/payments/payment-queue.ts'
import type { Change } from '#storage/commit/change.ts'

export interface TokenRequest {
  readonly merchant: Merchant
  readonly kind: 'CARD' | 'IBAN'
  readonly number: Secret<string>
  /** Cards only. */
  readonly expiryDate?: string
  readonly key?: OperationKey
}

export interface PseudoNumber {
  readonly pseudoNumber: string
  readonly last4Digits: string
  /** Cards only. */
  readonly brand?: string
}

/** Makes the answer, which is stored under the idempotency key in the commit that stores the number. */
export type Answering = (found: PseudoNumber | Refusal) => OperationAnswer

type Needs = Pick<LookUps, 'cards'> & Pick<Engine, 'vault' | 'accounts' | 'commit' | 'clock'>

/** The vault's result: the rows to write, if any, and the pseudo number. */
interface Admission {
  readonly found: PseudoNumber
  readonly change: Pick<Change, 'card' | 'account'>
}

/** 5: as for payments; admit.ts has the reason. */
const maximumTries = 5

export async function tokenize(
  request: TokenRequest,
  answerWith: Answering,
  needs: Needs,
): Promise<OperationAnswer> {
  const { isValid, admit } = kinds[request.kind]
  if (!isValid(request.number.reveal())) return storeRefusal(answerWith('NUMBER_INVALID'), request, needs)
  for (let attempt = 0; attempt < maximumTries; attempt += 1) {
    const admission = await admit(request, attempt, needs)
    if (!admission) return storeRefusal(answerWith('NUMBER_UNKNOWN'), request, needs)
    const answer = answerWith(admission.found)
    const key = keyRow(request.key, {
      merchant: request.merchant,
      answer,
      now: merchantNow(needs.clock, request.merchant),
    })
    const change = { ...admission.change, key }
    // For a known number without an idempotency key there is nothing to write.
    if (!change.card && !change.account && !key) return answer
    const committed = await needs.commit(change)
    if (committed.committed) return answer
    if (committed.conflict !== 'pseudo_number_taken') throw new CommitRefused(committed.conflict)
  }
  throw new Error(`no unused pseudo card number was found in ${maximumTries} tries`)
}

const isAnyCardNumber = (text: string): boolean => isPseudoCardNumber(text) || isCardNumber(text)
const isAnyAccountNumber = (text: string): boolean => isPseudoAccountNumber(text) || isIban(text)

async function admitCard(
  request: TokenRequest,
  attempt: number,
  { vault, cards }: Pick<Needs, 'vault' | 'cards'>,
): Promise<Admission | undefined> {
  const { number, expiryDate } = request
  const { merchantId } = request.merchant
  const admitted = await vault.admit(merchantId, number, { expiryDate, attempt })
  if (!admitted) return undefined
  const { cardId, last4Digits, brand, row } = admitted
  const kept = (await cards.read(merchantId, [cardId])).get(cardId)
  if (!row && !kept?.isHeld) {
    // Another process has destroyed the number that this one remembers: it is stored again.
    vault.forget(merchantId, cardId)
    return admitCard(request, attempt, { vault, cards })
  }
  // A known card gets the new expiry date.
  if (kept && expiryDate !== undefined) await cards.renew(merchantId, cardId, expiryDate)
  const pseudoNumber = kept?.pseudoNumber ?? row?.pseudoNumber
  if (pseudoNumber === undefined) return undefined
  return { found: { pseudoNumber, last4Digits, brand }, change: row ? { card: row } : {} }
}

async function admitAccount(
  { merchant: { merchantId }, number }: TokenRequest,
  attempt: number,
  { accounts }: Needs,
): Promise<Admission | undefined> {
  const admitted = await accounts.admit(merchantId, number, { attempt })
  if (!admitted) return undefined
  const { accountId, last4Digits, row } = admitted
  const pseudoNumber = (await accounts.findPseudoNumber(merchantId, accountId)) ?? row?.pseudoNumber
  if (pseudoNumber === undefined) return undefined
  return { found: { pseudoNumber, last4Digits }, change: row ? { account: row } : {} }
}

const kinds = {
  CARD: { isValid: isAnyCardNumber, admit: admitCard },
  IBAN: { isValid: isAnyAccountNumber, admit: admitAccount },
} as const
