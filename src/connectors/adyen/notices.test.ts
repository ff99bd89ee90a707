import { describe, expect, test } from 'vitest'
import { disputeEvents } from '#connectors/adyen/dispute-notices.ts'
import { modificationEvents } from '#connectors/adyen/modification-notices.ts'
import { readNotice } from '#connectors/adyen/notices.ts'
import type { Notice, NoticeFact } from '#connectors/contract.ts'
import { Secret } from '#domain/secret.ts'
import { xIdOf } from '#lifecycle/example-payment.test-support.ts'
import {
  absenceNote,
  compileDocument,
  hasAdyenDocuments,
  readAdyenDocument,
} from '#test/support/adyen/documents.ts'
import { isSignedByLibrary, signItem } from '#test/support/adyen/signer.ts'
import type { AnyJson } from '#test/support/any-json.ts'

const hmacKey = '44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056'
const keys = { hmacKey: new Secret(hmacKey), merchantAccount: 'ExampleShopECOM' }

const itemOf = (change: AnyJson = {}): AnyJson => ({
  amount: { currency: 'EUR', value: 1000 },
  eventCode: 'AUTHORISATION',
  eventDate: '2026-03-01T12:00:00+01:00',
  merchantAccountCode: 'ExampleShopECOM',
  merchantReference: xIdOf(1),
  pspReference: 'PSP0000000000001',
  reason: '',
  success: 'true',
  ...change,
})

const messageOf = (...items: AnyJson[]): AnyJson => ({
  live: 'false',
  notificationItems: items.map(item => ({ NotificationRequestItem: item })),
})

const read = (message: unknown, headers: Record<string, string> = {}): Notice =>
  readNotice(
    {
      headers,
      query: {},
      body: Buffer.from(typeof message === 'string' ? message : JSON.stringify(message)),
    },
    keys,
  )

const signed = (change: AnyJson = {}): AnyJson => signItem(itemOf(change), hmacKey)

function factOf(change: AnyJson): NoticeFact {
  const notice = read(messageOf(signed(change)))
  if (notice.verdict === 'forged' || notice.items[0] === undefined) throw new Error('no item')
  return notice.items[0].fact
}

/** A short description of a fact. */
function tell(fact: NoticeFact): string {
  switch (fact.kind) {
    case 'outcome':
      return `${fact.operation} ${fact.outcome.kind === 'declined' ? fact.outcome.detail : fact.outcome.kind}`
    case 'takenBack':
      return `${fact.operation} taken back`
    case 'dispute':
      return `${fact.dispute.stage} ${fact.dispute.status}`
    case 'return':
      return `returned ${fact.detail}`
    default:
      return fact.kind
  }
}

describe('signatures', () => {
  test('a message signed by Adyen’s library is genuine and gets the answer that Adyen expects', () => {
    const item = signed()
    expect(isSignedByLibrary(item, hmacKey)).toBe(true)
    expect(read(messageOf(item, signed({ pspReference: 'PSP0000000000002' })))).toMatchObject({
      verdict: 'genuine',
      items: [{ fact: { kind: 'outcome' } }, { fact: { kind: 'outcome' } }],
      answer: { status: 200, body: '[accepted]' },
    })
  })

  test.each([
    ['amount', { amount: { currency: 'EUR', value: 1001 } }],
    ['currency', { amount: { currency: 'USD', value: 1000 } }],
    ['event', { eventCode: 'CAPTURE' }],
    ['result', { success: 'false' }],
    ['reference', { merchantReference: xIdOf(2) }],
    ['psp reference', { pspReference: 'PSP0000000000009' }],
    ['original reference', { originalReference: 'PSP0000000000009' }],
    ['account', { merchantAccountCode: 'OtherECOM' }],
  ])('a changed %s is forged', (_, change) => {
    expect(read(messageOf({ ...signed(), ...change })).verdict).toBe('forged')
  })

  test.each([
    ['no signature', itemOf()],
    ['an empty signature', itemOf({ additionalData: { hmacSignature: '' } })],
    ['a signature of another key', signItem(itemOf(), 'ab'.repeat(32))],
    ['a short signature', itemOf({ additionalData: { hmacSignature: 'AAAA' } })],
  ])('%s is forged', (_, item) => expect(read(messageOf(item)).verdict).toBe('forged'))

  test('one forged item of several makes the whole message forged', () => {
    expect(read(messageOf(signed(), itemOf({ pspReference: 'X' }), signed())).verdict).toBe('forged')
  })

  test.each([
    ['nothing', ''],
    ['no JSON', '{'],
    ['a list', []],
    ['no items', { live: 'false', notificationItems: [] }],
    ['items of another kind', { notificationItems: [1] }],
  ])('%s is forged', (_, message) => expect(read(message).verdict).toBe('forged'))

  test('a missing amount is signed as an empty text', () => {
    const item = itemOf({
      eventCode: 'REPORT_AVAILABLE',
      amount: {},
      reason: 'https://ca-test.adyen.com/r.csv',
    })
    expect(read(messageOf(signItem(item, hmacKey))).verdict).toBe('genuine')
  })
})

describe('deduplication keys', () => {
  const keyOf = (change: AnyJson): string | undefined => {
    const notice = read(messageOf(signed(change)))
    return notice.verdict === 'genuine' ? notice.items[0]?.key : undefined
  }

  test('a redelivered item has the same key', () => {
    expect(keyOf({ eventDate: '2026-03-01T12:00:00+01:00' })).toBe(
      keyOf({ eventDate: '2026-03-01T13:00:00+01:00', reason: 'again' }),
    )
  })

  test.each([
    ['event', { eventCode: 'CAPTURE' }],
    ['reference', { pspReference: 'PSP0000000000002' }],
    ['result', { success: 'false' }],
    ['amount', { amount: { value: 999, currency: 'EUR' } }],
    ['currency', { amount: { value: 1000, currency: 'USD' } }],
    ['reference of ours', { merchantReference: 'f'.repeat(32) }],
    ['merchant account', { merchantAccountCode: 'AnotherShopECOM' }],
  ])('an item with another %s has another key', (_, change) => expect(keyOf(change)).not.toBe(keyOf({})))

  // Mastercard disputes pass through both: evidence for the bank's question, then evidence against the chargeback.
  test.each(['INFORMATION_SUPPLIED', 'DISPUTE_DEFENSE_PERIOD_ENDED'])(
    '%s of an inquiry and of its chargeback have different keys',
    eventCode => {
      const keyAt = (additionalData: AnyJson) => keyOf({ eventCode, additionalData })
      const inquiry = keyAt({ rfiReasonCode: '30', disputeStatus: 'Responded' })
      const chargeback = keyAt({ chargebackReasonCode: '4853', disputeStatus: 'Pending' })
      expect(chargeback).not.toBe(inquiry)
      expect(keyAt({ chargebackReasonCode: ' 4853', chargebackSchemeCode: 'mc' })).toBe(chargeback)
    },
  )

  test('a notice of a dispute whose unsigned members were changed has the key of the genuine one', () => {
    const keyAt = (additionalData: AnyJson) => keyOf({ eventCode: 'CHARGEBACK', additionalData })
    expect(keyAt({ rfiReasonCode: '30', disputeStatus: 'Won' })).toBe(keyAt({ disputeStatus: 'Undefended' }))
  })
})

describe('the fact of an item', () => {
  const modification = { pspReference: 'MOD1', originalReference: 'PSP1', merchantReference: xIdOf(2) }
  const session = { additionalData: { checkoutSessionId: 'CS1' } }

  test.each<[AnyJson, string]>([
    [{}, 'AUTHORIZATION approved'],
    [{ success: 'false', reason: 'Refused' }, 'AUTHORIZATION 0305'],
    [{ success: 'false', reason: 'Not enough balance' }, 'AUTHORIZATION 0351'],
    [{ success: 'false', reason: 'Refused', ...session }, 'AUTHORIZATION 0305'],
    [{ ...session }, 'AUTHORIZATION approved'],
    [{ eventCode: 'OFFER_CLOSED' }, 'AUTHORIZATION 0402'],
    [{ eventCode: 'EXPIRE' }, 'lapsed'],
    [{ eventCode: 'EXPIRE', success: 'false' }, 'ignored'],
    [{ eventCode: 'CAPTURE', ...modification }, 'CAPTURE approved'],
    [{ eventCode: 'CAPTURE', success: 'false', ...modification }, 'CAPTURE 0305'],
    [{ eventCode: 'CAPTURE_FAILED', ...modification }, 'CAPTURE taken back'],
    [{ eventCode: 'REFUND', ...modification }, 'REFUND approved'],
    [{ eventCode: 'REFUND', success: 'false', ...modification }, 'REFUND 0305'],
    [{ eventCode: 'REFUND_FAILED', ...modification }, 'REFUND taken back'],
    [{ eventCode: 'REFUNDED_REVERSED', ...modification }, 'REFUND taken back'],
    [{ eventCode: 'POSTPONED_REFUND', ...modification }, 'REFUND pending'],
    [{ eventCode: 'CANCELLATION', ...modification }, 'REVERSAL approved'],
    [{ eventCode: 'CANCELLATION', success: 'false', ...modification }, 'REVERSAL 0305'],
    [{ eventCode: 'CANCEL_OR_REFUND', ...modification }, 'REVERSAL approved'],
    [
      { eventCode: 'CANCEL_OR_REFUND', additionalData: { 'modification.action': 'refund' }, ...modification },
      'REFUND approved',
    ],
    [{ eventCode: 'AUTHORISATION_ADJUSTMENT', ...modification }, 'INCREMENTAL approved'],
    [{ eventCode: 'AUTHORISATION_ADJUSTMENT', success: 'false', ...modification }, 'INCREMENTAL 0305'],
    [{ eventCode: 'TECHNICAL_CANCEL', ...modification }, 'AUTHORIZATION 0402'],
    [
      { eventCode: 'TECHNICAL_CANCEL', success: 'false', reason: 'Transaction not found', ...modification },
      'AUTHORIZATION 0402',
    ],
    [{ eventCode: 'TECHNICAL_CANCEL', success: 'false', reason: 'Already captured' }, 'ignored'],
    [{ eventCode: 'REPORT_AVAILABLE', reason: 'https://ca-test.adyen.com/r.csv' }, 'report'],
    [{ eventCode: 'REQUEST_FOR_INFORMATION' }, 'INQUIRY OPEN'],
    [{ eventCode: 'INFORMATION_SUPPLIED' }, 'INQUIRY UNDER_REVIEW'],
    // As in Adyen's own example: evidence against a chargeback, sent in the Customer Area or by Adyen itself.
    [
      {
        eventCode: 'INFORMATION_SUPPLIED',
        additionalData: { chargebackReasonCode: '13.3', disputeStatus: 'Pending' },
      },
      'CHARGEBACK UNDER_REVIEW',
    ],
    [{ eventCode: 'INFORMATION_SUPPLIED', additionalData: { rfiReasonCode: '30' } }, 'INQUIRY UNDER_REVIEW'],
    [
      { eventCode: 'DISPUTE_DEFENSE_PERIOD_ENDED', additionalData: { rfiReasonCode: '30' } },
      'INQUIRY EXPIRED',
    ],
    [{ eventCode: 'NOTIFICATION_OF_CHARGEBACK' }, 'CHARGEBACK OPEN'],
    [{ eventCode: 'CHARGEBACK' }, 'CHARGEBACK OPEN'],
    [{ eventCode: 'CHARGEBACK', additionalData: { disputeStatus: 'Responded' } }, 'CHARGEBACK UNDER_REVIEW'],
    [{ eventCode: 'CHARGEBACK_REVERSED' }, 'CHARGEBACK WON'],
    [{ eventCode: 'CHARGEBACK_REVERSED', additionalData: { disputeStatus: 'Pending' } }, 'CHARGEBACK WON'],
    [{ eventCode: 'CHARGEBACK', additionalData: { disputeStatus: 'Undefended' } }, 'CHARGEBACK OPEN'],
    [{ eventCode: 'CHARGEBACK', additionalData: { disputeStatus: 'Lost' } }, 'CHARGEBACK LOST'],
    [{ eventCode: 'SECOND_CHARGEBACK' }, 'PRE_ARBITRATION OPEN'],
    [{ eventCode: 'SECOND_CHARGEBACK', additionalData: { disputeStatus: 'Lost' } }, 'PRE_ARBITRATION OPEN'],
    [{ eventCode: 'PREARBITRATION_OPEN' }, 'PRE_ARBITRATION OPEN'],
    [{ eventCode: 'PREARBITRATION_WON' }, 'PRE_ARBITRATION WON'],
    [{ eventCode: 'PREARBITRATION_LOST' }, 'PRE_ARBITRATION LOST'],
    [{ eventCode: 'PREARBITRATION_ACCEPTED' }, 'PRE_ARBITRATION ACCEPTED'],
    [{ eventCode: 'PREARBITRATION_DECLINED' }, 'PRE_ARBITRATION UNDER_REVIEW'],
    [{ eventCode: 'PREARBITRATION_ISSUER_WITHDRAWN' }, 'PRE_ARBITRATION WON'],
    [{ eventCode: 'SCHEME_ARBITRATION' }, 'ARBITRATION UNDER_REVIEW'],
    [{ eventCode: 'SCHEME_ARBITRATION_WON' }, 'ARBITRATION WON'],
    [{ eventCode: 'SCHEME_ARBITRATION_LOST' }, 'ARBITRATION LOST'],
    [{ eventCode: 'ISSUER_RESPONSE_TIMEFRAME_EXPIRED' }, 'CHARGEBACK WON'],
    [{ eventCode: 'DISPUTE_DEFENSE_PERIOD_ENDED' }, 'CHARGEBACK EXPIRED'],
    // No later event tells that an accepted chargeback is lost.
    [
      { eventCode: 'DISPUTE_DEFENSE_PERIOD_ENDED', additionalData: { disputeStatus: 'Accepted' } },
      'CHARGEBACK LOST',
    ],
    [{ eventCode: 'CHARGEBACK', additionalData: { disputeStatus: 'Accepted' } }, 'CHARGEBACK ACCEPTED'],
    [
      {
        eventCode: 'CHARGEBACK',
        paymentMethod: 'sepadirectdebit',
        additionalData: { chargebackReasonCode: 'AM04' },
      },
      'returned 0351',
    ],
    [{ eventCode: 'NOTIFICATION_OF_CHARGEBACK', paymentMethod: 'sepadirectdebit' }, 'ignored'],
    [
      { eventCode: 'REPORT_AVAILABLE', reason: 'https://x.example/r', merchantAccountCode: 'OtherECOM' },
      'ignored',
    ],
    [{ eventCode: 'TELEPORTED' }, 'ignored'],
    [{ eventCode: 'constructor' }, 'ignored'],
    [{ eventCode: 'CHARGEBACK', additionalData: { disputeStatus: 'constructor' } }, 'CHARGEBACK OPEN'],
  ])('%j: %s', (change, told) => expect(tell(factOf(change))).toBe(told))

  test('a modification is identified by our reference, by Adyen’s, or by that of its payment', () => {
    expect(factOf({ eventCode: 'CAPTURE', ...modification })).toMatchObject({
      subject: { reference: xIdOf(2), transactionId: 'MOD1', paymentTransactionId: 'PSP1' },
      amount: { value: 1000, currency: 'EUR' },
    })
  })

  test('a modification from the Customer Area has no reference of ours', () => {
    const fact = factOf({ eventCode: 'REFUND', ...modification, merchantReference: 'by hand' })
    expect(fact).toMatchObject({ subject: { paymentTransactionId: 'PSP1' } })
    expect(fact).toHaveProperty('subject.reference', undefined)
  })

  test.each(['null', ''])('a decline whose reason is "%s" has no reason', reason => {
    const fact = factOf({ success: 'false', reason })
    expect(fact).toMatchObject({ outcome: { kind: 'declined', detail: '0305' } })
    expect(fact).not.toHaveProperty('outcome.provider.responseText', 'null')
  })

  test('an approval also reports the automatic capture', () => {
    expect(factOf({})).toMatchObject({ capture: { kind: 'approved' } })
    expect(factOf({ success: 'false' })).not.toHaveProperty('capture')
  })

  test('a technical cancel names the payment, so that its late approval is recognised', () => {
    const change = { eventCode: 'TECHNICAL_CANCEL', pspReference: 'MOD1', originalReference: 'PSP1' }
    expect(factOf(change)).toMatchObject({
      subject: { reference: xIdOf(1), transactionId: 'PSP1' },
      outcome: { provider: { transactionId: 'MOD1', fields: { undone: 'PSP1' } } },
    })
  })

  test('an item of another merchant account concerns only payments that were made there', () => {
    expect(factOf({ merchantAccountCode: 'OtherECOM' })).toHaveProperty('subject.kept', {
      merchantAccount: 'OtherECOM',
    })
    expect(factOf({})).not.toHaveProperty('subject.kept')
  })

  test('amounts are converted into our unit', () => {
    expect(factOf({ amount: { currency: 'CLP', value: 50_000 } })).toMatchObject({
      amount: { value: 500, currency: 'CLP' },
    })
  })

  test('a notice about a dispute carries its reason and the deadline for evidence', () => {
    const additionalData = {
      chargebackReasonCode: ' 4853',
      defensePeriodEndsAt: '2026-07-31T03:03:07+02:00',
    }
    expect(factOf({ eventCode: 'CHARGEBACK', originalReference: 'PSP1', additionalData })).toMatchObject({
      subject: { reference: xIdOf(1), paymentTransactionId: 'PSP1' },
      dispute: {
        providerDisputeId: 'PSP0000000000001',
        amount: { value: 1000, currency: 'EUR' },
        reasonCode: '4853',
        reasonGroup: 'CONSUMER',
        evidenceDueBy: new Date('2026-07-31T01:03:07Z'),
      },
    })
  })

  test.each([
    ['ours', { captureMerchantReference: xIdOf(3), capturePspReference: 'CAP1' }, { reference: xIdOf(3) }],
    // Our reference of the authorisation would be taken for the last capture.
    ['of the Customer Area', { captureMerchantReference: 'by hand', capturePspReference: 'CAP1' }, {}],
  ])('a notice about a dispute names the capture that is disputed: %s', (_, additionalData, named) => {
    const fact = factOf({ eventCode: 'CHARGEBACK', originalReference: 'PSP1', additionalData })
    expect(fact).toMatchObject({ kind: 'dispute' })
    const subject = { transactionId: 'CAP1', paymentTransactionId: 'PSP1', ...named }
    expect(fact).toHaveProperty('subject', { reference: undefined, ...subject })
  })

  test.each([
    ['10.4', 'FRAUD'],
    ['4837', 'FRAUD'],
    ['F29', 'FRAUD'],
    ['11.3', 'AUTHORIZATION'],
    ['4808', 'AUTHORIZATION'],
    ['12.6.1', 'PROCESSING'],
    ['4834', 'PROCESSING'],
    ['13.1', 'CONSUMER'],
    ['C08', 'CONSUMER'],
    ['99', 'OTHER'],
  ])('reason %s is %s', (chargebackReasonCode, reasonGroup) => {
    expect(factOf({ eventCode: 'CHARGEBACK', additionalData: { chargebackReasonCode } })).toMatchObject({
      dispute: { reasonGroup },
    })
  })

  test('a notice about a report has its download address', () => {
    const reason = 'https://ca-test.adyen.com/reports/settlement_detail_report_batch_4.csv'
    expect(
      factOf({ eventCode: 'REPORT_AVAILABLE', reason, pspReference: 'settlement_detail_report_batch_4.csv' }),
    ).toEqual({ kind: 'report', url: reason, name: 'settlement_detail_report_batch_4.csv' })
  })
})

describe.runIf(hasAdyenDocuments)('Adyen’s Webhooks v1 document', () => {
  const document = hasAdyenDocuments ? readAdyenDocument('Webhooks-v1.json') : {}
  const names: string[] = Object.keys(document.webhooks ?? {}).map(path => path.slice(1))

  /** Events without consequences for us, and why. */
  const ignored: Readonly<Record<string, string>> = {
    ACH_NOTIFICATION_OF_CHANGE: 'an account number was corrected',
    DIRECT_DEBIT_NOTICE_OF_CHANGE_NOTIFICATION: 'an account number was corrected',
    AUTORESCUE: 'retries by Adyen are not switched on by us',
    CANCEL_AUTORESCUE: 'retries by Adyen are not switched on by us',
    ISSUER_COMMENTS: 'words about a dispute that goes on',
    MANUAL_REVIEW_ACCEPT: 'the authorisation stays what it was',
    MANUAL_REVIEW_REJECT: 'its cancellation comes as CANCEL_OR_REFUND',
    NOTIFICATION_OF_FRAUD: 'a warning, no money moves',
    ORDER_CLOSED: 'we make no orders of several payments',
    ORDER_OPENED: 'we make no orders of several payments',
    PAIDOUT_REVERSED: 'payouts are another contract',
    PAYOUT_DECLINE: 'payouts are another contract',
    PAYOUT_EXPIRE: 'payouts are another contract',
    PAYOUT_THIRDPARTY: 'payouts are another contract',
    RECURRING_CONTRACT: 'tokens come with the authorisation',
    REFUND_WITH_DATA: 'credits are another contract',
    VOID_PENDING_REFUND: 'its REFUND_FAILED or REFUND says the same',
  }

  test('every event code is read or listed as ignored', () => {
    const known = [...modificationEvents, ...disputeEvents, 'REPORT_AVAILABLE', ...Object.keys(ignored)]
    expect(names.filter(name => !known.includes(name))).toEqual([])
  })

  test('Adyen’s own examples can be read once they are signed', () => {
    const compile = compileDocument('Webhooks-v1.json')
    for (const name of names) {
      const { schema, examples } = document.webhooks[`/${name}`].post.requestBody.content['application/json']
      for (const { $ref } of Object.values<{ $ref: string }>(examples ?? {})) {
        const { value } = structuredClone(document.components.examples[$ref.split('/').at(-1) ?? ''])
        if (value.notificationItems === undefined) continue
        for (const { NotificationRequestItem: item } of value.notificationItems) {
          item.merchantAccountCode = keys.merchantAccount
          signItem(item, hmacKey)
        }
        const notice = read(value)
        expect(notice.verdict).toBe('genuine')
        const kinds = notice.verdict === 'genuine' ? notice.items.map(({ fact }) => fact.kind) : []
        expect(kinds.includes('ignored')).toBe(name in ignored)
        if (name in ignored) continue
        const check = compile(schema.$ref.split('/').at(-1))
        expect(check(messageOf(itemOf({ eventCode: name })))).toBeUndefined()
      }
    }
  })
})

test('the tests against Adyen’s document run, or are reported as skipped', ({ skip }) => {
  if (!hasAdyenDocuments) skip(absenceNote)
})
