/** The same operations as another production system sends them to Adyen; each difference stands in a table and has a reason. */
import { describe, expect, test } from 'vitest'
import { toAuthorizationCall } from '#connectors/adyen/authorization.ts'
import {
  account,
  authorizationOf,
  card,
  followUpOf,
  richContext,
  terms,
  wallet,
} from '#connectors/adyen/examples.test-support.ts'
import { toCapture, toIncrement, toRefund, toReversal } from '#connectors/adyen/modifications.ts'
import { absenceNote, hasAdyenDocuments, readAdyenDocument } from '#test/support/adyen-documents.ts'
import type { AnyJson } from '#test/support/any-json.ts'

/** Their names of methods and ours; what is left out here is neither in our catalogue nor in our map. */
const types: Readonly<Record<string, string>> = {
  Ach: 'ACHDIRECTDEBIT',
  Affirm: 'AFFIRM',
  Afterpay: 'AFTERPAY',
  Alfamart: 'ALFAMART',
  AliPayRedirect: 'ALIPAY',
  ApplePay: 'PROVIDERM',
  Bacs: 'BACSDIRECTDEBIT',
  BancontactCard: 'BANCONTACT',
  BcaBankTransfer: 'VABCA',
  Bizum: 'BIZUM',
  Blik: 'BLIK',
  BniVaBankTransfer: 'VABNI',
  Boleto: 'BOLETO',
  BriVaBankTransfer: 'VABRI',
  Card: 'CARD',
  CimbVaBankTransfer: 'VACIMBNIAGA',
  Dana: 'DANA',
  DanamonVaBankTransfer: 'VADANAMON',
  Eps: 'EPS',
  GCash: 'GCASH',
  GoPay: 'GOPAY',
  Ideal: 'IDEAL',
  Indomaret: 'INDOMARET',
  KakaoPay: 'KAKAOPAY',
  Klarna: 'PROVIDERK',
  Lawson: 'KONBINI',
  MandiriVaBankTransfer: 'VAMANDIRI',
  Momo: 'MOMOVIETNAM',
  OnlineBankingCzechRepublic: 'PLATBA24',
  OnlineBankingFinland: 'NORDEAFINLAND',
  OnlineBankingFpx: 'FPX',
  OnlineBankingSlovakia: 'TATRAPAY',
  OpenBankingUk: 'TRUELAYER',
  Oxxo: 'OXXO',
  PayEasy: 'PAYEASY',
  PaypalRedirect: 'PROVIDERP',
  PermataBankTransfer: 'VAPERMATA',
  Pix: 'PIX',
  Sepa: 'DIRECTDEBIT',
  SevenEleven: 'SEVENELEVENJAPAN',
  Swish: 'SWISH',
  TouchNGo: 'TOUCHNGO',
  Trustly: 'TRUSTLY',
  Twint: 'TWINT',
  Vipps: 'VIPPS',
}

/** Methods that want what our requests do not carry: a card, a code, a bank, an account elsewhere than in SEPA. */
const onPage = [
  'Ach',
  'Bacs',
  'BancontactCard',
  'Blik',
  'Eps',
  'OnlineBankingCzechRepublic',
  'OnlineBankingFinland',
  'OnlineBankingFpx',
  'OnlineBankingSlovakia',
]

/** Where our `paymentMethod` is another one than theirs, and why. */
const different: Readonly<Record<string, string>> = {
  Sepa: 'v72 names the members iban and ownerName; theirs are of an API before Checkout',
  PayEasy: 'ours is econtext_atm, the code for Pay-easy; theirs sends every shop to econtext_stores',
  OpenBankingUk: 'theirs sends an issuer of null',
  Vipps: 'v72 demands telephoneNumber',
}

/** Members of their bodies that ours may lack, and why. */
const left: Readonly<Record<string, string>> = {
  additionalData: 'executeThreeD is of 3-D Secure 1; ours says authenticationData',
}

const change = { card, account, wallet }
const inputs: Readonly<Record<string, AnyJson>> = {
  Card: { card: change.card },
  Sepa: { account: change.account },
  ApplePay: { wallet: change.wallet },
}

describe.runIf(hasAdyenDocuments)('the field probe', () => {
  const { flows } = hasAdyenDocuments ? readAdyenDocument('field-probe.json') : { flows: {} }
  const probes = Object.entries<AnyJson>(flows.authorize ?? {}).filter(([name]) => name in types)

  test('every method that both know is compared', () => {
    expect(probes.filter(([, { status }]) => status === 'supported').length).toBe(Object.keys(types).length)
  })

  test.each(probes)('%s', (name, { sample }) => {
    const theirs = JSON.parse(sample.body)
    const call = toAuthorizationCall(authorizationOf(types[name] ?? '', inputs[name], richContext), terms)
    if (call.path === 'none') throw new Error(call.reason)
    if (onPage.includes(name)) {
      expect(call.path).toBe('/sessions')
      return
    }
    expect(new URL(sample.url).pathname.replace('/v68', '')).toBe(call.path)
    const members = Object.keys(theirs).filter(member => !(member in left))
    expect(members.filter(member => call.body[member] === undefined)).toEqual([])
    const method: AnyJson = call.body.paymentMethod
    if (!(name in different)) expect(method.type).toBe(theirs.paymentMethod.type)
    if (!(name in different))
      expect(Object.keys(method)).toEqual(expect.arrayContaining(Object.keys(theirs.paymentMethod)))
  })

  test.each([
    ['capture', toCapture],
    ['refund', toRefund],
    ['incremental_authorization', toIncrement],
    ['void', toReversal],
  ] as const)('%s', (flow, modify) => {
    const { sample } = flows[flow].default
    const ours = modify(followUpOf('CAPTURE', { newTotal: 1000 }), 'probe_connector_txn_001', terms)
    expect(`/v68${ours.path}`).toBe(new URL(sample.url).pathname)
    // They send a reason that is no value of v72's enum; ours knows no reason.
    const { merchantRefundReason: _, ...theirs } = JSON.parse(sample.body)
    expect(Object.keys(ours.body).sort()).toEqual(Object.keys(theirs).sort())
  })
})

test('the field probe is there, or it is said that it is not', ({ skip }) => {
  if (!hasAdyenDocuments) skip(absenceNote)
})
