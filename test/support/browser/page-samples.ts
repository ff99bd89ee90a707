/** One model of every hosted page, rich enough to show each part of it. Used by the browser tests and the preview. */
import { drawPage } from '#connectors/simulator/site.ts'
import { xIdOf } from '#lifecycle/example-payment.test-support.ts'
import type { CustomerStep } from '#lifecycle/payment.ts'
import { loadAssets } from '#pages/assets.ts'
import { findLanguage, type Language } from '#pages/language.ts'
import { summarizeOrder } from '#pages/order-lines.ts'
import { explainDecline } from '#pages/show.ts'
import { renderCardFields } from '#pages/views/card-form.ts'
import { type CheckoutModel, type MethodOption, renderCheckout } from '#pages/views/checkout.ts'
import type { CurrencyOffer } from '#pages/views/currency-choice.ts'
import { renderDeadEnd } from '#pages/views/dead-end.ts'
import { renderInstructions } from '#pages/views/instructions.ts'
import type { PageFrame } from '#pages/views/layout.ts'
import { renderResult } from '#pages/views/result.ts'
import { renderSitePage } from '#pages/views/site-page.ts'
import type { Theme } from '#pages/views/theme.ts'

export const sampleAssets = loadAssets()

/** Two addresses of a shop that the pages lead back to. */
export const shopUrl = 'https://shop.example/return?PayId=0'

export interface SampleWish {
  readonly language?: Language | undefined
  readonly theme?: Theme | undefined
  readonly isTest?: boolean | undefined
}

export function sampleFrame({ language, theme, isTest = true }: SampleWish = {}): PageFrame {
  const english = findLanguage('en-GB')
  if (english === undefined) throw new Error('English must be there')
  return {
    language: language ?? english,
    assets: sampleAssets,
    isTest,
    merchantName: 'Northwind Coffee',
    theme,
  }
}

const amount = { value: 6230, currency: 'EUR' }

const order = summarizeOrder(
  amount,
  {
    merchantReference: 'NW-2026-1042',
    description: 'Ships on Thursday',
    items: [
      { name: 'Ethiopia Guji, whole bean, 1 kg', quantity: 2, grossPrice: 2450, totalTaxAmount: 640 },
      {
        name: 'Hand grinder <Mk II>',
        description: 'Steel, 38 mm burr',
        quantity: 1,
        grossPrice: 1390,
        taxAmount: 222,
      },
      { name: 'Welcome', type: 'discount', quantity: 1, grossPrice: -550 },
      { name: 'Parcel', type: 'shipping_fee', quantity: 1, grossPrice: 490, taxAmount: 78 },
    ],
  },
  undefined,
)

const testCards = [
  { number: '4111111111111111', description: 'Approves everything' },
  { number: '4000000000000002', description: 'Do not honour' },
  { number: '4000002760003184', description: '3-D Secure challenge' },
]

export const cardMethod: MethodOption = {
  type: 'CARD',
  label: 'Credit or debit card',
  family: 'card',
  flow: 'direct',
  card: { mayBeSaved: true, testCards, testExpiry: '12/29' },
}

export const debitMethod: MethodOption = {
  type: 'DIRECTDEBIT',
  label: 'Direct debit',
  family: 'direct_debit',
  flow: 'direct',
  directDebit: { creditorId: 'DE98ZZZ09999999999', mandateReference: 'NW-M-1042' },
}

const redirect = (type: string, label: string, family: MethodOption['family']): MethodOption => ({
  type,
  label,
  family,
  flow: 'redirect',
})

const invoice: MethodOption = {
  ...redirect('PROVIDERK', 'providerK', 'instalment'),
  instalments: {
    currency: 'EUR',
    total: 6350,
    cost: 120,
    instalments: [
      { dueDate: '2027-01-15', value: 2117 },
      { dueDate: '2027-02-15', value: 2117 },
      { dueDate: '2027-03-15', value: 2116 },
    ],
  },
}

export const manyMethods: readonly MethodOption[] = [
  cardMethod,
  debitMethod,
  invoice,
  redirect('PROVIDERP', 'providerP', 'wallet'),
  redirect('IDEAL', 'iDEAL', 'bank_redirect'),
  redirect('BANCONTACT', 'Bancontact', 'bank_redirect'),
  redirect('EPS', 'eps-Überweisung', 'bank_redirect'),
  redirect('BLIK', 'BLIK', 'mobile'),
  redirect('ALIPAY', 'Alipay', 'wallet'),
  redirect('WECHATPAY', 'WeChat Pay', 'qr'),
  { type: 'MULTIBANCO', label: 'Multibanco', family: 'voucher', flow: 'voucher' },
  { type: 'PAYSAFECARD', label: 'paysafecard', family: 'prepaid', flow: 'redirect' },
]

export const checkoutModel: CheckoutModel = {
  order,
  methods: manyMethods,
  action: '/submit',
  hidden: [{ name: 'attempt', value: 'attempt-1' }],
  cancelAction: '/cancel',
}

const remembered = [
  { id: 'card-1', brand: 'visa', last4Digits: '1111', expiryDate: '202912' },
  { id: 'card-2', brand: 'mastercard', last4Digits: '4444', expiryDate: '203005' },
]

export const offer: CurrencyOffer = {
  quoteId: 'quote-1',
  merchantAmount: amount,
  cardholderAmount: { value: 7123, currency: 'USD' },
  exchangeRate: '1.143339',
  markupPercentage: '3.00',
  rateSource: 'European Central Bank',
}

type Render = (frame: PageFrame) => string

const deadEnds = [
  'expired',
  'completed',
  'unknown',
  'tooManyTries',
  'slowDown',
  'error',
  'unavailable',
] as const
const results = ['paid', 'pending', 'failed', 'cancelled'] as const
const site = {
  action: '/submit',
  amount,
  reference: 'NW-2026-1042',
  card: { brand: 'visa', last4Digits: '3184' },
  date: '2026-12-01T10:15:00Z',
}

const drawSite = (step: CustomerStep, { language }: PageFrame) =>
  drawPage({ step, reference: xIdOf(1), amount, methodLabel: 'iDEAL', language: language.tag })

/** By name of the page; the name is also its path. */
export const samples: Readonly<Record<string, Render>> = {
  checkout: frame => renderCheckout(frame, checkoutModel),
  remembered: frame =>
    renderCheckout(frame, {
      ...checkoutModel,
      methods: [
        { ...cardMethod, card: { remembered, mayBeSaved: true, testCards, testExpiry: '12/29' } },
        ...manyMethods.slice(2, 6),
      ],
    }),
  card: frame => renderCheckout(frame, { ...checkoutModel, methods: [cardMethod] }),
  declined: frame =>
    renderCheckout(frame, {
      ...checkoutModel,
      methods: [
        {
          ...cardMethod,
          card: {
            mayBeSaved: true,
            testCards,
            testExpiry: '12/29',
            entered: { expiry: '12/29', cardholderName: 'Ada King' },
          },
        },
        ...manyMethods.slice(1, 4),
      ],
      message: explainDecline('21000351', frame.language.texts),
    }),
  mistakes: frame =>
    renderCheckout(frame, {
      ...checkoutModel,
      methods: [cardMethod],
      errors: { number: frame.language.texts.cardNumberWrong, expiry: frame.language.texts.expiryPast },
    }),
  'card-fields': frame => renderCardFields(frame, '/pay/fields/mer_1'),
  debit: frame => renderCheckout(frame, { ...checkoutModel, methods: [debitMethod] }),
  instalments: frame => renderCheckout(frame, { ...checkoutModel, methods: [invoice] }),
  redirect: frame =>
    renderCheckout(frame, { ...checkoutModel, methods: [redirect('IDEAL', 'iDEAL', 'bank_redirect')] }),
  'no-method': frame => renderCheckout(frame, { ...checkoutModel, methods: [] }),
  currency: frame =>
    renderCheckout(frame, {
      ...checkoutModel,
      methods: [
        {
          ...cardMethod,
          card: {
            testCards,
            testExpiry: '12/29',
            offer,
            entered: { expiry: '12/29', cardholderName: 'Ada King' },
          },
        },
        ...manyMethods.slice(1, 4),
      ],
    }),
  voucher: frame =>
    renderInstructions(frame, {
      amount,
      methodLabel: 'Multibanco',
      kind: 'voucher',
      entries: [
        { name: 'entity', value: '12345' },
        { name: 'reference', value: '999123456' },
      ],
      deadline: '2027-01-15T22:59:00Z',
      returnUrl: shopUrl,
    }),
  transfer: frame =>
    renderInstructions(frame, {
      amount,
      methodLabel: 'SEPA Credit Transfer',
      kind: 'transfer',
      entries: [
        { name: 'recipient', value: 'Northwind Coffee' },
        { name: 'iban', value: 'DE89370400440532013000' },
        { name: 'bic', value: 'COBADEFFXXX' },
        { name: 'reference', value: 'RF18539007547034' },
      ],
      deadline: '2027-01-15T22:59:00Z',
      qrText: 'BCD\n002\n1\nSCT\n\nNorthwind Coffee\nDE89370400440532013000\nEUR62.30\n\nRF18539007547034',
      returnUrl: shopUrl,
    }),
  provider: frame => renderSitePage(frame, { ...site, ...drawSite('page', frame) }),
  challenge: frame => renderSitePage(frame, { ...site, ...drawSite('challenge', frame) }),
  ...Object.fromEntries(
    results.map(kind => [
      kind,
      (frame: PageFrame) =>
        renderResult(frame, {
          kind,
          amount,
          methodLabel: 'iDEAL',
          reference: 'NW-2026-1042',
          date: '2026-12-01T10:15:00Z',
          returnUrl: shopUrl,
        }),
    ]),
  ),
  ...Object.fromEntries(
    deadEnds.map(kind => [
      kind,
      (frame: PageFrame) =>
        renderDeadEnd(frame, { kind, returnUrl: shopUrl, retryUrl: kind === 'error' ? '/error' : undefined }),
    ]),
  ),
}
