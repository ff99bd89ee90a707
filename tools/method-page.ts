/** Renders docs/methods.md: every row of the catalogue by family, and the card brands. */
import { type CardBrand, cardBrands, groupDigits } from '#domain/cards/card-brands.ts'
import { allMethods } from '#methods/catalogue.ts'
import type { Method, MethodOperation } from '#methods/method.ts'
import { isServed } from '#methods/method-list.ts'

const families: Readonly<Record<string, string>> = {
  card: 'Cards',
  direct_debit: 'Direct debits',
  bank_redirect: 'Bank redirects',
  open_banking: 'Open banking',
  bank_transfer: 'Bank transfers',
  qr: 'QR codes',
  wallet: 'Wallets',
  mobile: 'Mobile payments',
  bnpl: 'Buy now, pay later',
  instalment: 'Instalments',
  invoice: 'Invoices',
  voucher: 'Vouchers',
  prepaid: 'Prepaid',
  gift_card: 'Gift cards',
  carrier_billing: 'Carrier billing',
  crypto: 'Crypto currencies',
  cash_on_delivery: 'Cash on delivery',
}

/** One letter an operation, so that a row fits a line. */
const letters: Readonly<Record<MethodOperation, string>> = {
  capture: 'C',
  partial_capture: 'P',
  multi_capture: 'M',
  increment: 'I',
  reverse: 'V',
  refund: 'R',
  partial_refund: 'S',
  credit: 'O',
  recurring: 'A',
}

const meanings: Readonly<Record<MethodOperation, string>> = {
  capture: 'the authorisation is captured by a call of its own',
  partial_capture: 'a capture may take a part',
  multi_capture: 'several captures are possible',
  increment: 'an authorisation can be raised',
  reverse: 'an authorisation can be given back',
  refund: 'a captured payment can be refunded',
  partial_refund: 'a refund may be a part',
  credit: 'money can be paid out without a payment behind it',
  recurring: 'later payments are possible without the customer',
}

const listCodes = (codes: '*' | readonly string[]): string => (codes === '*' ? 'any' : codes.join(' '))

const toRow = (method: Method): string => {
  const cells = [
    `\`${method.type}\``,
    `\`${method.key}\``,
    method.core ? `**${method.label}**` : method.label,
    method.flow,
    method.integration.join(' '),
    method.capture.join(' '),
    method.operations.map(operation => letters[operation]).join(''),
    method.authorizationDays === undefined ? '' : String(method.authorizationDays),
    listCodes(method.currencies),
    listCodes(method.countries),
  ]
  return `| ${cells.join(' | ')} |`
}

const heading = `| type | key | name | flow | integration | capture | can | days | currencies | countries |
|---|---|---|---|---|---|---|---|---|---|`

function renderFamily(family: string): string {
  const methods = allMethods.filter(method => method.family === family)
  return `## ${families[family] ?? family}\n\n${heading}\n${methods.map(toRow).join('\n')}`
}

function renderServed(): string {
  const waiting = allMethods.filter(method => !isServed(method))
  if (waiting.length === 0) return ''
  const served = allMethods.filter(isServed).map(({ type }) => `\`${type}\``)
  return `\nServed today: ${served.join(', ')}. The other rows wait for their flows.\n`
}

const toBrandRow = (entry: CardBrand): string => {
  const groups = [...new Set(entry.lengths.map(length => groupDigits(entry, length).join('-')))]
  const found = [...entry.rides, ...(entry.sharedRanges.length > 0 ? ['some ranges of others'] : [])]
  const cells = [
    `\`${entry.brand}\``,
    entry.name,
    entry.ranges.length > 0 ? 'own ranges' : 'co-badge only',
    entry.lengths.join(', '),
    groups.join(', '),
    entry.securityCodeLength === 0 ? 'none' : String(entry.securityCodeLength),
    found.join(', '),
  ]
  return `| ${cells.join(' | ')} |`
}

export function renderMethodPage(): string {
  const present = Object.keys(families).filter(family => allMethods.some(method => method.family === family))
  const operations = Object.keys(letters) as MethodOperation[]
  return `# Payment methods

Generated from the rows in \`src/methods/rows/\` by \`npm run generate\`. ${allMethods.length} methods; the
${allMethods.filter(method => method.core).length} in bold are the core ones, which a hosted page offers to merchants who have not chosen. The same list is
\`GET /payment-methods\`.
${renderServed()}
\`type\` goes into \`paymentMethods.type\`, \`key\` is the name of the method's own object beside it. \`days\` is how long an
authorisation lives. What a method can do after the approval is one letter each:

| letter | operation | meaning |
|---|---|---|
${operations.map(operation => `| ${letters[operation]} | \`${operation}\` | ${meanings[operation]} |`).join('\n')}

A request that asks for a currency, country, integration type or capture method outside the row is answered by 400, which
names the field and what would fit. An operation outside the row is answered by 422 \`20200009\` before anybody is asked.

${present.map(renderFamily).join('\n\n')}

## Card brands

\`CARD\` takes all of them. The brand is told by the leading digits (\`src/domain/cards/card-brands.ts\`) and appears in the payment's
record. A request may name the brand; one that the number contradicts is refused, unless the card can bear both.

| brand | name | told by | lengths | printed | security code | also found on |
|---|---|---|---|---|---|---|
${cardBrands.map(toBrandRow).join('\n')}
`
}
