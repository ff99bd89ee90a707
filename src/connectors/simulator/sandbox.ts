/** Data of the test environment: numbers to type into forms, and exchange rates. */
import type { SandboxData } from '#connectors/contract.ts'
import { authenticationCards } from '#connectors/simulator/authentication-numbers.ts'
import { testCards } from '#connectors/simulator/test-numbers.ts'
import { Secret } from '#domain/secret.ts'
import { formOf, type MethodForm } from '#methods/offer.ts'

const instruments: Readonly<Record<MethodForm, ReturnType<SandboxData['instrument']>>> = {
  card: {
    card: {
      number: new Secret('4111111111111111'),
      // Far in the future, so that the card does not expire when the test clock is moved by years.
      expiryDate: '209912',
      cardholderName: 'Test Customer',
    },
  },
  account: { account: { number: new Secret('DE89370400440532013000'), holderName: 'Test Customer' } },
  none: {},
}

/** The 3-D Secure cards are near the top, because developers look for them. */
const cards = [...testCards.slice(0, 3), ...authenticationCards.slice(0, 2), ...testCards.slice(3)]

export const sandbox: SandboxData = {
  cards: cards.map(({ number, description }) => ({ number, description })),
  instrument: method => instruments[formOf(method)],
  customer: action => ({ hints: { customer: action }, returned: { query: {}, form: { action } } }),
}

/**
 * Exchange rates of the test environment for one euro, made up and round, so that amounts can be computed by hand. Used
 * until rates are imported.
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
