/**
 * The test numbers and test amounts; any other valid one is approved. Kept as data, because the test catalogue
 * publishes them.
 */

import { authenticationCards, type ThreeDsBehaviour } from '#connectors/simulator/authentication-numbers.ts'
import { listProviderCodes, providerText } from '#domain/response-codes.ts'

/** What the simulator does with operations on a card or account. Texts are the last four digits of a response code. */
export interface Scenario {
  /** The decline of the authorisation. */
  readonly decline?: string
  readonly laterCapture?: string
  readonly laterRefund?: string
  /** The reason for which the customer's bank returns a captured debit. */
  readonly laterReturn?: string
  /** The cardholder disputes captures. */
  readonly laterDispute?: true
  /** The card's behaviour with 3-D Secure. */
  readonly threeDs?: ThreeDsBehaviour
  /** `lost_answer`: processed, but the answer is lost. `lost_request`: never arrives. */
  readonly fault?: 'lost_answer' | 'lost_request'
}

export interface TestNumber {
  readonly number: string
  readonly scenario: Scenario
  readonly outcome: string
  readonly description: string
}

const declines = (number: string, nn: string, description: string): TestNumber => ({
  number,
  scenario: { decline: `03${nn}` },
  outcome: `declined ${nn}`,
  description,
})

export const testCards: readonly TestNumber[] = [
  { number: '4111111111111111', scenario: {}, outcome: 'approved', description: 'Approves everything' },
  declines('4000000000000002', '05', 'Do not honour'),
  declines('4000000000009995', '51', 'Insufficient funds'),
  declines('4000000000000069', '54', 'Expired card'),
  declines('4000000000009987', '41', 'Lost card'),
  declines('4000000000009979', '43', 'Stolen card'),
  declines('4000000000000119', '96', 'System malfunction'),
  {
    number: '4000000000000341',
    scenario: { laterCapture: '0305' },
    outcome: 'approved, capture declined',
    description: 'Authorises; every capture is declined',
  },
  {
    number: '4000000000005126',
    scenario: { laterRefund: '0305' },
    outcome: 'approved, refund declined',
    description: 'Authorises and captures; every refund is declined',
  },
  {
    number: '4000000000002685',
    scenario: { laterDispute: true },
    outcome: 'approved, disputed after 2 days',
    description: 'Captured, and disputed two days later: fraud; evidence with the word WIN wins',
  },
  {
    number: '4000000000000101',
    scenario: { fault: 'lost_answer' },
    outcome: 'unknown, then approved',
    description: 'Approved, but the answer is lost; settles on inquiry',
  },
  {
    number: '4000000000000259',
    scenario: { fault: 'lost_request' },
    outcome: 'declined 91',
    description: 'Never reaches the acquirer',
  },
]

export const testAccounts: readonly TestNumber[] = [
  { number: 'DE89370400440532013000', scenario: {}, outcome: 'approved', description: 'Approves everything' },
  declines('DE62370400440532013001', '51', 'Insufficient funds'),
  {
    number: 'DE35370400440532013002',
    scenario: { laterReturn: '0351' },
    outcome: 'approved, returned after 2 days',
    description: 'Captured, and sent back by the bank two days later: insufficient funds',
  },
]

const byNumber: ReadonlyMap<string, Scenario> = new Map(
  [...testCards, ...authenticationCards, ...testAccounts].map(({ number, scenario }) => [number, scenario]),
)

const approves: Scenario = {}

export const scenarioOf = (number: string): Scenario => byNumber.get(number.replaceAll(' ', '')) ?? approves

/**
 * Test amounts: an operation of exactly this amount is declined, whatever the card or account. They are too large to be
 * used by accident, and end with their provider code. 99,990,300 is 999,903.00 in a currency with cents, and not round
 * in any other.
 */
const firstAmount = 99_990_300

export interface TestAmount {
  readonly value: number
  /** The last four digits of the response code. */
  readonly decline: string
  readonly outcome: string
  readonly description: string
}

export const testAmounts: readonly TestAmount[] = listProviderCodes().map(nn => ({
  value: firstAmount + Number(nn),
  decline: `03${nn}`,
  outcome: `declined ${nn}`,
  description: providerText(nn),
}))

const declinedAmounts: ReadonlyMap<number, string> = new Map(
  testAmounts.map(({ value, decline }) => [value, decline]),
)

export const declineByAmount = (value: number): string | undefined => declinedAmounts.get(value)
