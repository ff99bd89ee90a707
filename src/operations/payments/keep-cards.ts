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
  admitted: readonly AdmittedCard[],
  { cards, vault }: Needs,
): Promise<ReadonlyMap<string, KeptCard>> {
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
