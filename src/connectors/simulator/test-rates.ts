/**
 * Fixed exchange rates of the test environment, for one euro: round and made up, so that an expected amount can be worked
 * out by hand. They hold until rates are imported.
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
