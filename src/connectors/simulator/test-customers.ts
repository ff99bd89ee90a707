/** What customers of the test environment who have no browser type into a form: numbers that approve. */
import type { AccountData, CardData } from '#connectors/contract.ts'
import { Secret } from '#domain/secret.ts'
import { formOf, type MethodForm } from '#methods/offer.ts'
import type { Method } from '#methods/rows.ts'

interface TestInstrument {
  readonly card?: CardData
  readonly account?: AccountData
}

const instruments: Readonly<Record<MethodForm, TestInstrument>> = {
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

export const testInstrument = (method: Method): TestInstrument => instruments[formOf(method)]
