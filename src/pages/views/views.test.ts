/** What no view may do, whatever it is given: let markup through, show a card number, or show test helps in live. */
import { describe, expect, test } from 'vitest'
import { drawPage } from '#connectors/simulator/site.ts'
import { xIdOf } from '#lifecycle/example-payment.test-support.ts'
import { loadAssets } from '#pages/assets.ts'
import { chooseLanguage } from '#pages/language.ts'
import { type CheckoutModel, labelMethod, renderCheckout } from '#pages/views/checkout.ts'
import type { CurrencyOffer } from '#pages/views/currency-choice.ts'
import { renderDeadEnd, statusOfDeadEnd } from '#pages/views/dead-end.ts'
import { renderInstructions, renderQr } from '#pages/views/instructions.ts'
import type { PageFrame } from '#pages/views/layout.ts'
import { renderResult } from '#pages/views/result.ts'
import { renderSitePage } from '#pages/views/site-page.ts'

const hostile = `"><script>alert(1)</script><img src=x onerror='1'>`
const frame: PageFrame = {
  language: chooseLanguage('en', undefined),
  assets: loadAssets(),
  isTest: true,
  merchantName: hostile,
  theme: { logoUrl: hostile, accent: hostile },
}
const amount = { value: 1234, currency: 'EUR' }
const hidden = [{ name: hostile, value: hostile }]

const checkout: CheckoutModel = {
  order: {
    amount,
    descriptions: [hostile],
    reference: hostile,
    lines: [{ name: hostile, description: hostile, quantityUnit: hostile, quantity: 2 }],
  },
  action: '/pay/x',
  cancelAction: '/pay/x/cancel',
  hidden,
  message: hostile,
  errors: { number: hostile, iban: hostile },
  methods: [
    {
      type: hostile,
      label: hostile,
      family: 'card',
      flow: 'direct',
      card: {
        mayBeSaved: true,
        remembered: [{ id: hostile, brand: hostile, last4Digits: '1111' }],
        testCards: [{ number: '4111111111111111', description: hostile }],
        entered: { expiry: hostile, cardholderName: hostile },
      },
    },
    {
      type: 'X',
      label: hostile,
      family: 'direct_debit',
      flow: 'direct',
      directDebit: { creditorId: hostile, entered: { iban: hostile } },
    },
    ...['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(type => ({
      type,
      label: hostile,
      family: 'wallet' as const,
      flow: 'redirect' as const,
    })),
  ],
}

const offer: CurrencyOffer = {
  quoteId: hostile,
  merchantAmount: amount,
  cardholderAmount: amount,
  exchangeRate: '1.2',
  markupPercentage: '3.00',
  rateSource: hostile,
}
const pages: [string, (own: PageFrame) => string][] = [
  ['checkout', own => renderCheckout(own, checkout)],
  [
    'currency choice',
    own =>
      renderCheckout(own, {
        ...checkout,
        errors: { dcc: hostile },
        methods: checkout.methods.map(method => ({
          ...method,
          card: method.card && { ...method.card, offer },
        })),
      }),
  ],
  [
    'instructions',
    own =>
      renderInstructions(own, {
        amount,
        methodLabel: hostile,
        kind: 'transfer',
        entries: [{ name: 'reference', value: hostile }],
        qrText: hostile,
        returnUrl: 'javascript:alert(1)',
      }),
  ],
  [
    'page of a connector',
    own =>
      renderSitePage(own, {
        title: hostile,
        text: hostile,
        issuer: hostile,
        shows: ['merchant', 'amount', 'reference', 'date', 'card', 'instalments'],
        buttons: [{ name: hostile, value: hostile, label: hostile, icon: 'check' }],
        hidden: { [hostile]: hostile },
        action: hostile,
        amount,
        reference: hostile,
        card: { brand: hostile, last4Digits: hostile },
        date: '2026-12-01T00:00:00Z',
      }),
  ],
  [
    'result',
    own => renderResult(own, { kind: 'paid', amount, reference: hostile, returnUrl: 'javascript:alert(1)' }),
  ],
  [
    'dead end',
    own => renderDeadEnd(own, { kind: 'error', returnUrl: 'data:text/html,x', retryUrl: '//evil.example' }),
  ],
]

describe.each(pages)('%s', (_, render) => {
  test('lets no markup through and leads nowhere it must not', () => {
    const text = render(frame)
    expect(text.match(/<script/g)).toHaveLength(1)
    expect(text).not.toMatch(/<img|onerror='|javascript:|data:text|\/\/evil/)
    // No handler, no style attribute, no style element without a theme.
    expect(text.replace(/"[^"]*"/g, '""')).not.toMatch(/<[^>]*\s(on[a-z]+|style)=/i)
    expect(text).not.toContain('<style')
  })

  test('says nothing about a merchant it does not know', () => {
    // `{count}` is for the script, which counts what a search finds.
    expect(render({ ...frame, merchantName: undefined })).not.toMatch(
      /\{(?!count)[a-z]+\}|undefined|\[object/i,
    )
  })
})

test.each([
  ['page', false],
  ['challenge', true],
] as const)(
  'the %s of a connector sends the word of a button, with what the page was given',
  (step, isIssuer) => {
    const page = drawPage({ step, reference: xIdOf(1), amount, methodLabel: 'iDEAL', language: 'en' })
    const card = { brand: 'visa', last4Digits: '3184' }
    const text = renderSitePage(frame, {
      ...page,
      amount,
      card,
      action: '/pay/x',
      date: '2026-12-01T00:00:00Z',
    })
    const [, form = ''] = /<form method="post" action="\/pay\/x"(.*?)<\/form>/s.exec(text) ?? []
    const words = [...form.matchAll(/<button [^>]*name="action" value="([a-z]+)"/g)].map(([, word]) => word)
    expect(words).toEqual(['approve', 'decline', 'cancel', 'pending'])
    expect(form).toContain('<input type="hidden" name="shown" value="1234 EUR">')
    expect(text.includes('class="issuer"')).toBe(isIssuer)
  },
)

test('test cards and test banner are for test only', () => {
  const live = renderCheckout({ ...frame, isTest: false }, checkout)
  expect(live).not.toContain('4111')
  expect(live).not.toContain(frame.language.texts.testBanner)
  expect(renderCheckout(frame, checkout)).toContain('4111 1111 1111 1111')
  expect(renderCheckout(frame, checkout)).not.toContain('4111111111111111')
})

test('the fields of number and security code never have a value', () => {
  const text = renderCheckout(frame, checkout)
  for (const name of ['number', 'securityCode']) {
    expect(text.match(new RegExp(`<input id="${name}"[^>]*>`))?.[0]).not.toMatch(/ value=/)
  }
})

test('the merchant’s theme is a style element of the page', () => {
  const text = renderResult({ ...frame, theme: { accent: '#aa0000' } }, { kind: 'paid' })
  expect(text).toMatch(
    /<style>@media print,\(prefers-color-scheme:light\)\{:root\{--accent:#aa0000;[^<]*<\/style>/,
  )
})

test('a QR code is drawn on paper with a quiet border', () => {
  const { text } = renderQr('hello', 'code')
  expect(text).toMatch(/viewBox="0 0 29 29"/)
  expect(text).toContain('M4 4h7v1H4z')
})

test.each([
  ['expired', 410],
  ['completed', 410],
  ['tooManyTries', 410],
  ['unknown', 404],
  ['slowDown', 429],
  ['error', 500],
  ['unavailable', 503],
] as const)('%s answers %d', (kind, status) => {
  expect(statusOfDeadEnd(kind)).toBe(status)
})

test('methods without a brand name are named in the customer’s language', () => {
  const { texts } = frame.language
  expect(labelMethod({ key: 'card', label: 'x' }, texts)).toBe(texts.methodCard)
  expect(labelMethod({ key: 'ideal', label: 'iDEAL' }, texts)).toBe('iDEAL')
  expect(labelMethod({ key: 'toString', label: 'x' }, texts)).toBe('x')
})
