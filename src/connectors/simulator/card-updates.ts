/** The simulated schemes' answers to card update requests. Only these numbers have an update. */
import type { CardQuestion, CardUpdate } from '#connectors/contract.ts'
import { Secret } from '#domain/secret.ts'

export interface UpdatedCard {
  readonly number: string
  readonly outcome: CardUpdate['status']
  readonly description: string
}

const replaced = '4000000000003220'
const renewed = '4000000000003246'

/** The card that replaces 4000000000003220. It approves everything. */
const successor = '4000000000003253'
const successorExpiry = '203512'

export const updatedCards: readonly UpdatedCard[] = [
  {
    number: replaced,
    outcome: 'CARD_UPDATED',
    description: `Replaced by ${successor}, valid to ${successorExpiry}`,
  },
  { number: '4000000000003238', outcome: 'CARD_CLOSED', description: 'The account was closed' },
  { number: renewed, outcome: 'EXPIRY_UPDATED', description: 'The same number, five years longer' },
  {
    number: '4000000000003261',
    outcome: 'CONTACT_CARDHOLDER',
    description: 'The issuer tells only the cardholder',
  },
  { number: '4000000000003279', outcome: 'NOT_FOUND', description: 'The issuer does not take part' },
]

const outcomes: ReadonlyMap<string, UpdatedCard['outcome']> = new Map(
  updatedCards.map(({ number, outcome }) => [number, outcome]),
)

/** Assumed for a card without a known expiry date. */
const assumedExpiry = '203012'

export function updateCard({ number, expiryDate = assumedExpiry }: CardQuestion): CardUpdate {
  const status = outcomes.get(number.reveal()) ?? 'NO_CHANGE'
  switch (status) {
    case 'CARD_UPDATED':
      return { status, number: new Secret(successor), expiryDate: successorExpiry }
    case 'EXPIRY_UPDATED':
      return { status, expiryDate: String(Math.min(Number(expiryDate) + fiveYears, latest)) }
    default:
      return { status }
  }
}

/** In YYYYMM, read as a number, a year is 100. */
const fiveYears = 500
/** The last month that fits into six digits. */
const latest = 999_912
