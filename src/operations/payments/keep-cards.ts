/** Stores many cards in the vault at once, and returns the pseudo number of each. */
import type { Merchant } from '#domain/merchant.ts'
import type { Engine } from '#operations/engine.ts'
import type { LookUps } from '#operations/look-ups.ts'
import type { KeptCard } from '#storage/vault/card-book.ts'
import type { AdmittedCard } from '#vault/cards.ts'

type Needs = Pick<LookUps, 'cards'> & Pick<Engine, 'vault'>

/** Returns the stored cards by card id. */
export async function keepCards(
  { merchantId }: Merchant,
  cardsToKeep: readonly AdmittedCard[],
  { cards, vault }: Needs,
): Promise<ReadonlyMap<string, KeptCard>> {
  const admitted = await admitForgotten(merchantId, cardsToKeep, { cards, vault })
  const fresh = admitted.filter(({ row }) => row !== undefined)
  const rows = fresh.flatMap(({ row }) => (row ? [row] : []))
  // A pseudo number collided: store the cards one by one, so that only the colliding card gets another number.
  if (!(await cards.keep(rows)))
    for (const card of fresh) await keepOne({ merchantId, card }, { cards, vault })
  return cards.read(
    merchantId,
    admitted.map(({ cardId }) => cardId),
  )
}

/** Admits cards again whose numbers this process has cached but another process has destroyed, so that they are stored again. */
async function admitForgotten(
  merchantId: Merchant['merchantId'],
  admitted: readonly AdmittedCard[],
  { cards, vault }: Needs,
): Promise<readonly AdmittedCard[]> {
  const remembered = admitted.filter(({ row }) => row === undefined).map(({ cardId }) => cardId)
  if (remembered.length === 0) return admitted
  const known = await cards.read(merchantId, remembered)
  return Promise.all(
    admitted.map(async card => {
      const { cardId, number, expiryDate, row } = card
      if (row !== undefined || known.get(cardId)?.isHeld) return card
      vault.forget(merchantId, cardId)
      return (await vault.admit(merchantId, number, { expiryDate })) ?? card
    }),
  )
}

/** 5: as for payments; admit.ts has the reason. */
const maximumTries = 5

async function keepOne(
  { merchantId, card }: { merchantId: Merchant['merchantId']; card: AdmittedCard },
  { cards, vault }: Needs,
): Promise<void> {
  for (let attempt = 0; attempt < maximumTries; attempt += 1) {
    const { expiryDate } = card
    const again = await vault.admit(merchantId, card.number, { expiryDate, attempt })
    if (!again?.row || (await cards.keep([again.row]))) return
  }
  throw new Error(`no unused pseudo card number was found in ${maximumTries} tries`)
}
