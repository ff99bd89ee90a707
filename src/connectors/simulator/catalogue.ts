/**
 * The test catalogue: cards, accounts, amounts, simulation modes, response codes and known BINs. Built from the
 * simulator's own tables, so that it cannot list anything that does not work.
 */
import { authenticationCards } from '#connectors/simulator/authentication-numbers.ts'
import { brandCards } from '#connectors/simulator/brand-numbers.ts'
import { updatedCards } from '#connectors/simulator/card-updates.ts'
import { testBins } from '#connectors/simulator/test-bins.ts'
import { testAccounts, testAmounts, testCards } from '#connectors/simulator/test-numbers.ts'
import { detectBrand } from '#domain/cards/card-brands.ts'
import { listProviderCodes, listResponseCodes, providerText } from '#domain/response-codes.ts'
import type { TestCatalogue } from '#schemas/test-catalogue.ts'

type Card = TestCatalogue['cards'][number]

/** The cards of the account updater; payments with them are approved. */
const updaterCards = updatedCards.map(({ number, description }) => ({
  number,
  outcome: 'approved',
  description,
}))

const toCard = ({ number, outcome, description }: Omit<Card, 'brand'>): Card => ({
  number,
  brand: detectBrand(number),
  outcome,
  description,
})

function listCards(): Card[] {
  const cards = [
    ...authenticationCards.map(card => ({ ...toCard(card), threeDs: card.scenario.threeDs })),
    ...testCards.map(toCard),
    ...updaterCards.map(toCard),
    ...brandCards.map(number => toCard({ number, outcome: 'approved', description: 'Approves everything' })),
  ]
  // If a number is in several tables, the first one counts.
  return [...new Map(cards.toReversed().map(card => [card.number, card])).values()].toReversed()
}

const listModes = (): TestCatalogue['simulationModes'] => [
  { mode: '0000', outcome: 'approved', description: 'Approves, whatever the card or account says' },
  ...listProviderCodes().map(nn => ({
    mode: `03${nn}`,
    outcome: `declined ${nn}`,
    description: providerText(nn),
  })),
  { mode: '0402', outcome: 'declined', description: 'Timed out or expired' },
  { mode: '0703', outcome: 'declined', description: 'Cancelled by the customer' },
  { mode: 'nnnn', outcome: 'declined', description: 'Any other four digits decline with 2MMMnnnn' },
]

export const buildTestCatalogue = (): TestCatalogue => ({
  cards: listCards(),
  accounts: testAccounts.map(({ number, outcome, description }) => ({ number, outcome, description })),
  amounts: testAmounts.map(({ value, outcome, description }) => ({ value, outcome, description })),
  simulationModes: listModes(),
  responseCodes: [...listResponseCodes()],
  bins: testBins.map(({ coBrands = [], ...bin }) => ({ ...bin, coBrands: [...coBrands] })),
})
