/**
 * The method of a payment whose customer has not chosen one yet. It is no row of the catalogue: nobody can ask for it, and
 * no page offers it. It lacks no operation, so that such a payment is refused for what it is: not authorised.
 */
import type { Method } from '#methods/method.ts'

export const undecided: Method = {
  type: 'UNDECIDED',
  key: 'undecided',
  label: '',
  family: 'none',
  countries: '*',
  currencies: '*',
  integration: ['HOSTED'],
  flow: 'direct',
  capture: ['AUTOMATIC', 'MANUAL', 'DELAYED'],
  operations: ['capture', 'reverse', 'refund', 'increment'],
  core: false,
}
