/**
 * Compares our requests with those of another production system to Adyen. Each difference is in a table, with its
 * reason.
 */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { createDisputeActions } from '#connectors/adyen/dispute-actions.ts'
import {
  account,
  authorizationOf,
  card,
  followUpOf,
  richContext,
  terms,
  wallet,
} from '#connectors/adyen/examples.test-support.ts'
import { toAuthorizationCall } from '#connectors/adyen/translate/authorization.ts'
import { toCapture, toIncrement, toRefund, toReversal } from '#connectors/adyen/translate/modifications.ts'
import { absenceNote, hasAdyenDocuments, readAdyenDocument } from '#test/support/adyen/documents.ts'
import type { AnyJson } from '#test/support/any-json.ts'
import { openDispute } from '#test/support/providers/example-dispute.ts'

/** Their method names and our types. A missing method is neither in our catalogue nor in our map. */
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

/** Methods that need data that our requests do not have: a card, a code, a bank, an account outside SEPA. */
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

/** Methods whose `paymentMethod` differs from theirs, and why. */
const different: Readonly<Record<string, string>> = {
  Sepa: 'v72 names the members iban and ownerName; theirs are of an API before Checkout',
  PayEasy: 'ours is econtext_atm, the code for Pay-easy; theirs sends every shop to econtext_stores',
  OpenBankingUk: 'theirs sends an issuer of null',
  Vipps: 'v72 demands telephoneNumber',
}

/** Members of their bodies that ours may omit, and why. */
const left: Readonly<Record<string, string>> = {
  additionalData: 'executeThreeD is of 3-D Secure 1; ours says authenticationData',
}

const modifications = [
  ['capture', toCapture],
  ['refund', toRefund],
  ['incremental_authorization', toIncrement],
  ['void', toReversal],
] as const

const comparedAlone = ['recurring_charge', 'dispute_accept', 'dispute_defend', 'dispute_submit_evidence']

/** Requests of the probe that we do not send. Explained in the README. */
const notCompared: readonly string[] = [
  'ApplePayDecrypted',
  'FamilyMart',
  'GooglePay',
  'GooglePayDecrypted',
  'MiniStop',
  'OnlineBankingThailand',
  'Seicomart',
  'create_client_authentication_token',
  'create_order',
  'handle_event',
  'parse_event',
  'proxy_authorize',
  'proxy_setup_recurring',
  'setup_recurring',
  'token_authorize',
]

const change = { card, account, wallet }
const inputs: Readonly<Record<string, AnyJson>> = {
  Card: { card: change.card },
  Sepa: { account: change.account },
  ApplePay: { wallet: change.wallet },
}

describe.runIf(hasAdyenDocuments)('the field probe', () => {
  const { flows } = hasAdyenDocuments ? readAdyenDocument('field-probe.json') : { flows: {} }
  const probes = Object.entries<AnyJson>(flows.authorize ?? {}).filter(([name]) => name in types)

  test('every request of the probe is compared or listed as not sent', () => {
    const supported = Object.entries<AnyJson>(flows).flatMap(([flow, cases]) =>
      Object.entries<AnyJson>(cases)
        .filter(([, { status }]) => status === 'supported')
        .map(([name]) => (name === 'default' ? flow : name)),
    )
    const compared = [...Object.keys(types), ...modifications.map(([flow]) => flow), ...comparedAlone]
    expect(supported.sort()).toEqual([...compared, ...notCompared].sort())
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

  test.each(modifications)('%s', (flow, modify) => {
    const { sample } = flows[flow].default
    const ours = modify(followUpOf('CAPTURE', { newTotal: 1000 }), 'probe_connector_txn_001', terms)
    expect(`/v68${ours.path}`).toBe(new URL(sample.url).pathname)
    // They send a reason that v72 does not define; our API has no reason.
    const { merchantRefundReason: _, ...theirs } = JSON.parse(sample.body)
    expect(Object.keys(ours.body).sort()).toEqual(Object.keys(theirs).sort())
  })

  test('recurring_charge sends the fields of the probe, with the differences that the README names', () => {
    const { url, body } = flows.recurring_charge.default.sample
    const credentialOnFile = {
      type: 'UNSCHEDULED',
      initial: false,
      initiator: 'MERCHANT',
      providerToken: 'probe-mandate-123 cust_probe_123',
    } as const
    const request = authorizationOf('PROVIDERP', { credentialOnFile, customerPresent: false })
    const call = toAuthorizationCall(request, terms)
    if (call.path === 'none') throw new Error(call.reason)
    expect(`/v68${call.path}`).toBe(new URL(url).pathname)
    const { additionalData: _, paymentMethod, ...theirs } = JSON.parse(body)
    expect(call.body).toMatchObject({
      paymentMethod: { type: paymentMethod.type, storedPaymentMethodId: paymentMethod.storedPaymentMethodId },
      shopperInteraction: theirs.shopperInteraction,
      recurringProcessingModel: theirs.recurringProcessingModel,
      shopperReference: theirs.shopperReference,
    })
    expect(Object.keys(theirs).filter(member => call.body[member] === undefined)).toEqual([])
  })

  test('disputes are accepted and defended with the same calls', async () => {
    const asked = await disputeCalls()
    const compared = ['dispute_accept', 'dispute_submit_evidence', 'dispute_defend'].map(flow => {
      const { url, body } = flows[flow].default.sample
      return { path: new URL(url).pathname.split('/').at(-1), members: membersOf(JSON.parse(body)) }
    })
    expect(asked).toEqual(compared)
  })
})

/** The names of all members, recursively, without their values. */
const membersOf = (value: AnyJson): AnyJson =>
  Array.isArray(value)
    ? value.map(membersOf)
    : typeof value === 'object'
      ? Object.fromEntries(
          Object.keys(value)
            .sort()
            .map(name => [name, membersOf(value[name])]),
        )
      : typeof value

/** The calls that accept and then defend a dispute, without the request for the applicable reasons. */
async function disputeCalls() {
  const asked: AnyJson[] = []
  const reasons = [
    {
      defenseReasonCode: 'probe_reason',
      satisfied: false,
      defenseDocumentTypes: [{ defenseDocumentTypeCode: 'DefenseMaterial', requirementLevel: 'Required' }],
    },
  ]
  const body = JSON.stringify({ disputeServiceResult: { success: true }, defenseReasons: reasons })
  const actions = createDisputeActions(async (path, sent) => {
    asked.push({ path: path.slice(1), members: membersOf(sent) })
    return { kind: 'answered', status: 200, headers: {}, body }
  }, 'probe_merchant')
  const dispute = openDispute('probe_dispute_id_001')
  const signal = new AbortController().signal
  const files = [{ name: 'a.pdf', type: 'application/pdf', content: Uint8Array.of(0x25) }]
  await actions.accept?.(dispute, 'key-1', signal)
  await actions.submitEvidence?.(dispute, { files }, 'key-2', signal)
  return asked.filter(({ path }) => path !== 'retrieveApplicableDefenseReasons')
}

test('the README names every difference', () => {
  const readme = readFileSync(new URL('README.md', import.meta.url), 'utf8')
  const names = [...onPage, ...Object.keys(different), ...Object.keys(left), ...notCompared]
  expect(names.filter(name => !readme.includes(`\`${name}\``))).toEqual([])
})

test('the tests against the field probe run, or are reported as skipped', ({ skip }) => {
  if (!hasAdyenDocuments) skip(absenceNote)
})
