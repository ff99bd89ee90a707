/** The numbers with a meaning. Any other Luhn-valid card is approved. Kept as data: it is also the published catalogue. */

/** What the simulator will do with operations on a card. Details are the last four digits of a response code. */
export interface Scenario {
  readonly authorization?: string
  readonly capture?: string
  readonly refund?: string
  /** `lost_answer`: done, but we never hear. `lost_request`: never arrives. */
  readonly fault?: 'lost_answer' | 'lost_request'
}

export interface TestCard {
  readonly number: string
  readonly scenario: Scenario
  readonly outcome: string
  readonly description: string
}

export const testCards: readonly TestCard[] = [
  { number: '4111111111111111', scenario: {}, outcome: 'approved', description: 'Approves everything' },
  {
    number: '4000000000000002',
    scenario: { authorization: '0305' },
    outcome: 'declined 05',
    description: 'Do not honour',
  },
  {
    number: '4000000000009995',
    scenario: { authorization: '0351' },
    outcome: 'declined 51',
    description: 'Insufficient funds',
  },
  {
    number: '4000000000000069',
    scenario: { authorization: '0354' },
    outcome: 'declined 54',
    description: 'Expired card',
  },
  {
    number: '4000000000009987',
    scenario: { authorization: '0341' },
    outcome: 'declined 41',
    description: 'Lost card',
  },
  {
    number: '4000000000009979',
    scenario: { authorization: '0343' },
    outcome: 'declined 43',
    description: 'Stolen card',
  },
  {
    number: '4000000000000119',
    scenario: { authorization: '0396' },
    outcome: 'declined 96',
    description: 'System malfunction',
  },
  {
    number: '4000000000000341',
    scenario: { capture: '0305' },
    outcome: 'approved, capture declined',
    description: 'Authorises; every capture is declined',
  },
  {
    number: '4000000000005126',
    scenario: { refund: '0305' },
    outcome: 'approved, refund declined',
    description: 'Authorises and captures; every refund is declined',
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

const byNumber = new Map(testCards.map(card => [card.number, card.scenario]))

const approves: Scenario = {}

export const scenarioOf = (number: string): Scenario => byNumber.get(number) ?? approves
