/** What customers of the test environment can type into a form; those without a browser type numbers that approve. */
import type { SandboxData } from '#connectors/contract.ts'
import { authenticationCards } from '#connectors/simulator/authentication-numbers.ts'
import { testCards } from '#connectors/simulator/test-numbers.ts'
import { Secret } from '#domain/secret.ts'
import { formOf, type MethodForm } from '#methods/offer.ts'

const instruments: Readonly<Record<MethodForm, ReturnType<SandboxData['instrument']>>> = {
  card: {
    card: {
      number: new Secret('4111111111111111'),
      // The far end of any card's life: it must not expire when the test clock is moved by years.
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
}
