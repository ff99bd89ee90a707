/**
 * What the gateway prints when it starts: where everything is, and a first payment to paste. Scripts read its `name:
 * value` lines.
 */
import type { DemoMerchant } from '#commands/serve/demo-merchant.ts'

export interface BannerFacts {
  readonly environment: 'test' | 'live'
  readonly origin: string
  readonly place: string
  /** Absent in live. */
  readonly demo?: DemoMerchant | undefined
  /** The address of the console, or a link that sets up its first owner; absent when it is switched off. */
  readonly console?: string | undefined
  readonly year: number
}

/** How a user who has the sources runs a command. */
const command = 'npm run --silent tollgate --'

export function renderBanner(facts: BannerFacts): string {
  const { environment, origin, place, demo, console } = facts
  const baseUrl = `${origin}/api/v2`
  const nature = environment === 'test' ? 'simulated providers, no real money' : 'real money'
  const lines = [
    '',
    `Tollgate is ready (${environment} environment: ${nature}).`,
    '',
    `base URL: ${baseUrl}`,
    ...(demo ? listCredentials(demo) : []),
    `API reference: ${origin}/docs`,
    ...(console === undefined ? [] : [`console: ${console}`]),
    `data: ${place}`,
    '',
    ...(demo ? listFirstSteps(baseUrl, demo, facts) : listLiveSteps()),
    '',
  ]
  return lines.join('\n')
}

/** A restored backup contains no secrets. Those that these commands make are kept, so the next start prints them. */
const explainMissing = (group: string, { merchantId }: DemoMerchant): string =>
  `(not in the backup; make a new one: ${command} ${group} rotate ${merchantId})`

export const listCredentials = (demo: DemoMerchant): string[] => [
  `merchant id: ${demo.merchantId}`,
  `API key: ${demo.apiKey || explainMissing('key', demo)}`,
  `webhook secret: ${demo.webhookSecret || explainMissing('webhook-secret', demo)}`,
]

function listFirstSteps(baseUrl: string, demo: DemoMerchant, { origin, year }: BannerFacts): string[] {
  // Without its key every request would be refused.
  const requests = demo.apiKey === '' ? ['Then:'] : listRequests(baseUrl, demo, { origin, year })
  return [
    ...requests,
    `  read on:               ${origin}/docs and the folder docs/`,
    `  make your own shop:    ${command} merchant create --name "My shop"`,
    '  run the tests:         npm test',
    '  stop:                  Ctrl-C; the data stays',
    '',
  ]
}

function listRequests(
  baseUrl: string,
  demo: DemoMerchant,
  { origin, year }: Pick<BannerFacts, 'origin' | 'year'>,
): string[] {
  const login = `-u ${demo.merchantId}:${demo.apiKey}`
  const body = JSON.stringify({
    transId: 'TRANS_ID',
    amount: { value: 1000, currency: 'EUR' },
    captureMethod: { type: 'AUTOMATIC' },
    paymentMethods: {
      integrationType: 'DIRECT',
      type: 'CARD',
      // Three years ahead: still valid when an old terminal's output is pasted.
      card: { number: '4111111111111111', expiryDate: `${year + 3}12`, securityCode: '123' },
    },
  }).replace('TRANS_ID', `first-'$(date +%s)'`)
  const page = JSON.stringify({
    transId: 'TRANS_ID',
    amount: { value: 4999, currency: 'EUR' },
    order: { description: 'One felt hat' },
    // The customer returns to a page that exists: the reference.
    urls: { return: `${origin}/docs`, cancel: `${origin}/docs` },
  }).replace('TRANS_ID', `page-'$(date +%s)'`)
  return [
    'Your first payment; paste this into another terminal:',
    '',
    `curl -s -w '\\n' ${login} -H 'Content-Type: application/json' -d '${body}' ${baseUrl}/payments`,
    '',
    'A checkout page for your browser; open the href of the answer:',
    '',
    `curl -s -w '\\n' ${login} -H 'Content-Type: application/json' -d '${page}' ${baseUrl}/payments/sessions`,
    '',
    'Then:',
    `  look at it:            curl -s -w '\\n' ${login} ${baseUrl}/payments/getByPayId/<payId of the answer>`,
    '  see one declined:      use the number 4000000000000002 (no funds: 4000000000009995)',
  ]
}

const listLiveSteps = (): string[] => [
  'Then:',
  `  make a merchant:       ${command} merchant create --name "My shop"`,
  `  open the console:      ${command} operator add --email you@example.com --role owner`,
  '',
]
