/** Data of the test environment: numbers that customers can type into a form, and exchange rates. */
import type { SandboxData } from '#connectors/contract.ts'
import { authenticationCards } from '#connectors/simulator/authentication-numbers.ts'
import { testCards } from '#connectors/simulator/test-numbers.ts'
import { Secret } from '#domain/secret.ts'
import { formOf, type MethodForm } from '#methods/offer.ts'

const instruments: Readonly<Record<MethodForm, ReturnType<SandboxData['instrument']>>> = {
  card: {
    card: {
      number: new Secret('4111111111111111'),
      // Far in the future: the card must not expire when the test clock is moved by years.
      expiryDate: '209912',
      cardholderName: 'Test Customer',
    },
  },
  account: { account: { number: new Secret('DE89370400440532013000'), holderName: 'Test Customer' } },
  none: {},
}

/** With the 3-D Secure challenge among the first, because developers look for it. */
const cards = [...testCards.slice(0, 3), ...authenticationCards.slice(0, 2), ...testCards.slice(3)]

export const sandbox: SandboxData = {
  cards: cards.map(({ number, description }) => ({ number, description })),
  instrument: method => instruments[formOf(method)],
  customer: action => ({ hints: { customer: action }, returned: { query: {}, form: { action } } }),
}

/**
 * Fixed exchange rates of the test environment, for one euro: round and made up, so that an expected amount can be
 * worked out by hand. They are used until rates are imported.
 */
export const testRates: ReadonlyMap<string, string> = new Map([
  ['EUR', '1'],
  ['USD', '1.10'],
  ['GBP', '0.85'],
  ['CHF', '0.95'],
  ['JPY', '160'],
  ['PLN', '4.30'],
  ['SEK', '11.20'],
  ['NOK', '11.50'],
  ['DKK', '7.46'],
  ['CZK', '25'],
  ['HUF', '400'],
  ['CAD', '1.50'],
  ['AUD', '1.65'],
  ['CNY', '7.80'],
  ['KWD', '0.335'],
  ['BHD', '0.414'],
])

export const testRateSource = 'SIMULATOR'
