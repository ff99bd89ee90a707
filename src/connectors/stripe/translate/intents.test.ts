/** Payment intents: the requests, and the outcome of every answer. */
import { describe, expect, test } from 'vitest'
import {
  authorizationOf,
  captureReference,
  followUpOf,
  intentOf,
  paymentOf,
  reference,
  testAccount,
  testCard,
} from '#connectors/stripe/examples.test-support.ts'
import {
  readIntent,
  readRelease,
  readTotal,
  toCapture,
  toIntent,
} from '#connectors/stripe/translate/intents.ts'
import { toForm } from '#connectors/stripe/translate/wire.ts'
import { Secret } from '#domain/secret.ts'

const sent = (...args: Parameters<typeof toIntent>): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(toForm(toIntent(...args))))

describe('requests for authorisations and captures', () => {
  test('a card payment that is captured at once is sent with its order', () => {
    const body = sent(authorizationOf('CARD', { card: testCard, captureReference }), 'card', 1000)
    expect(body).toEqual({
      amount: '1000',
      currency: 'eur',
      confirm: 'true',
      capture_method: 'automatic',
      'payment_method_types[0]': 'card',
      'payment_method_data[type]': 'card',
      'payment_method_data[card][number]': '4242424242424242',
      'payment_method_data[card][exp_month]': '12',
      'payment_method_data[card][exp_year]': '2030',
      'payment_method_data[card][cvc]': '123',
      'payment_method_data[billing_details][name]': 'Ada Lovelace',
      description: 'order-1',
      return_url: 'https://shop.example/pay/return/abc',
      'metadata[tollgate]': reference,
      'metadata[tollgate_capture]': captureReference,
      'expand[0]': 'latest_charge',
    })
  })

  test('a card payment that is captured later requests multicapture and increments', () => {
    const body = sent(authorizationOf('CARD', { card: testCard }), 'card', 1000)
    expect(body).toMatchObject({
      capture_method: 'manual',
      'payment_method_options[card][request_multicapture]': 'if_available',
      'payment_method_options[card][request_incremental_authorization]': 'if_available',
    })
  })

  test('the customer, the addresses and the statement descriptor are sent', () => {
    const payment = paymentOf('CARD', {
      customer: {
        firstName: 'Ada',
        lastName: 'Lovelace',
        email: 'ada@example.com',
        phone: { countryCode: '49', number: '301234' },
      },
      billing: {
        streetName: 'Main St',
        streetNumber: '1',
        city: 'Berlin',
        country: 'DEU',
        postalCode: '10115',
      },
      shipping: {
        address: { firstName: 'Ada', lastName: 'L', streetName: 'Side St', city: 'Berlin', country: 'DEU' },
      },
      descriptor: 'Töllgate* Shop™ 店',
      order: { description: 'Two books' },
    })
    const body = sent(authorizationOf('CARD', { card: { number: testCard.number }, payment }), 'card', 1000)
    expect(body).toMatchObject({
      'payment_method_data[billing_details][name]': 'Ada Lovelace',
      'payment_method_data[billing_details][email]': 'ada@example.com',
      'payment_method_data[billing_details][phone]': '+49301234',
      'payment_method_data[billing_details][address][line1]': 'Main St 1',
      'payment_method_data[billing_details][address][country]': 'DE',
      'shipping[name]': 'Ada L',
      'shipping[address][line1]': 'Side St',
      statement_descriptor_suffix: 'Tollgate ShopTM',
      description: 'Two books',
    })
  })

  test('the result of an authentication made elsewhere is sent', () => {
    const imported = {
      acsProtocolVersion: '2.2.0',
      dsTransId: '97267598-fae6-48f2-8083-23a68c9e1f4b',
      eci: '5',
      transStatus: 'Y',
    }
    const authenticationValue = new Secret('AAABBWcSNIdjeUZThmNHAAAAAAA=')
    const threeDs = { imported, authenticationValue, exemption: 'TRANSACTION_RISK_ANALYSIS' }
    expect(sent(authorizationOf('CARD', { card: testCard, threeDs }), 'card', 1000)).toMatchObject({
      'payment_method_options[card][three_d_secure][cryptogram]': authenticationValue.reveal(),
      'payment_method_options[card][three_d_secure][transaction_id]': imported.dsTransId,
      'payment_method_options[card][three_d_secure][version]': '2.2.0',
      'payment_method_options[card][three_d_secure][ares_trans_status]': 'Y',
      'payment_method_options[card][three_d_secure][electronic_commerce_indicator]': '05',
      'payment_method_options[card][three_d_secure][exemption_indicator]': 'low_risk',
    })
  })

  test.each([
    [{ challengePreference: 'MANDATE_CHALLENGE' }, 'challenge'],
    [{ challengePreference: 'REQUEST_CHALLENGE' }, 'any'],
    [{ challengePreference: 'NO_PREFERENCE' }, undefined],
    [{ challengePreference: 'MANDATE_CHALLENGE', skip: true }, undefined],
  ])('3-D Secure wanted as %o is asked for as %s', (threeDs, wanted) => {
    const body = sent(authorizationOf('CARD', { card: testCard, threeDs }), 'card', 1000)
    expect(body['payment_method_options[card][request_three_d_secure]']).toBe(wanted)
  })

  test('a merchant-initiated payment names the initial one and is off-session', () => {
    const body = sent(
      authorizationOf('CARD', {
        card: { number: testCard.number, expiryDate: '203012' },
        customerPresent: false,
        credentialOnFile: {
          type: 'RECURRING',
          initial: false,
          initiator: 'MERCHANT',
          schemeReferenceId: '123456789012345',
        },
      }),
      'card',
      1000,
    )
    expect(body).toMatchObject({
      off_session: 'true',
      'payment_method_options[card][mit_exemption][network_transaction_id]': '123456789012345',
    })
    expect(body.return_url).toBeUndefined()
    expect(body.error_on_requires_action).toBeUndefined()
  })

  test('a stored method is charged with the ids of customer and method', () => {
    const credentialOnFile = {
      type: 'UNSCHEDULED',
      initial: false,
      initiator: 'MERCHANT',
      providerToken: 'cus_1/pm_1',
    } as const
    const body = sent(authorizationOf('CARD', { credentialOnFile, customerPresent: false }), 'card', 1000)
    expect(body).toMatchObject({ customer: 'cus_1', payment_method: 'pm_1', off_session: 'true' })
  })

  test('a card payment without the customer fails instead of waiting for a challenge', () => {
    const body = sent(authorizationOf('CARD', { card: testCard, customerPresent: false }), 'card', 1000)
    expect(body).toMatchObject({ error_on_requires_action: 'true' })
    expect(body.return_url).toBeUndefined()
  })

  test('a direct debit is sent with its mandate', () => {
    const payment = paymentOf('DIRECTDEBIT', {
      browser: { ipAddress: '192.0.2.1', userAgent: 'Browser/1' },
      descriptor: 'Tollgate',
    })
    const request = authorizationOf('DIRECTDEBIT', { account: testAccount, captureReference, payment })
    expect(sent(request, 'sepa_debit', 1000)).toMatchObject({
      'payment_method_data[type]': 'sepa_debit',
      'payment_method_data[sepa_debit][iban]': 'DE89370400440532013000',
      'payment_method_data[billing_details][name]': 'Ada Lovelace',
      'mandate_data[customer_acceptance][type]': 'online',
      'mandate_data[customer_acceptance][online][ip_address]': '192.0.2.1',
      statement_descriptor: 'Tollgate',
    })
    expect(sent(authorizationOf('DIRECTDEBIT', { account: testAccount }), 'sepa_debit', 1000)).toMatchObject({
      'mandate_data[customer_acceptance][type]': 'offline',
    })
  })

  test.each([
    [{ newTotal: 400 }, 'false'],
    [{ newTotal: 400, final: true }, undefined],
    // Another capture or an increment has no answer yet, and may leave more to capture.
    [{ newTotal: 1000, final: false, amount: { value: 1000, currency: 'EUR' } }, 'false'],
  ])('a capture %o has final_capture %s', (more, final) => {
    const form = toForm(toCapture(followUpOf('CAPTURE', more), 'card', 400))
    expect(new URLSearchParams(form).get('final_capture')).toBe(final ?? null)
  })

  test('a method that is captured once never asks for further captures', () => {
    const request = followUpOf('CAPTURE', { payment: paymentOf('PROVIDERK', { authorizedValue: 1000 }) })
    expect(toForm(toCapture(request, 'klarna', 400))).not.toContain('final_capture')
  })
})

describe('outcomes of answers', () => {
  const asked = { reference, amount: { value: 1000, currency: 'EUR' }, captureReference }

  test('succeeded is the answer for authorisation and capture', () => {
    const charge = {
      id: 'ch_1',
      payment_method_details: {
        type: 'card',
        card: {
          authorization_code: '123456',
          network_transaction_id: '104102978678771',
          three_d_secure: {
            result: 'authenticated',
            version: '2.2.0',
            electronic_commerce_indicator: '05',
            transaction_id: 'ds-1',
          },
        },
      },
    }
    expect(readIntent(intentOf('succeeded', { latest_charge: charge }), asked)).toEqual({
      authorization: {
        kind: 'approved',
        provider: {
          echo: { reference, amount: { value: 1000, currency: 'EUR' } },
          transactionId: 'pi_1',
          responseCode: '00',
          approvalCode: 123456,
          schemeReferenceId: '104102978678771',
          fields: {
            threeDsData: { acsProtocolVersion: '2.2.0', transStatus: 'Y', eci: '05', dsTransId: 'ds-1' },
          },
        },
      },
      capture: {
        kind: 'approved',
        provider: {
          echo: { reference: captureReference, amount: { value: 1000, currency: 'EUR' } },
          transactionId: 'ch_1',
          responseCode: '00',
        },
      },
    })
  })

  test.each([
    ['requires_capture', 'approved'],
    ['processing', 'pending'],
    ['requires_confirmation', 'pending'],
    // There was no try so far.
    ['requires_payment_method', 'pending'],
    ['canceled', 'declined'],
    ['an unknown status', 'unknown'],
  ])('%s is %s', (status, kind) => {
    const { authorization, capture } = readIntent(intentOf(status), asked)
    expect([authorization.kind, capture]).toEqual([kind, undefined])
  })

  test('another amount or reference is echoed unchanged, so that the engine detects it', () => {
    const { authorization } = readIntent(
      intentOf('requires_capture', { amount: 999, metadata: { tollgate: captureReference } }),
      asked,
    )
    expect(authorization).toMatchObject({
      provider: { echo: { reference: captureReference, amount: { value: 999, currency: 'EUR' } } },
    })
  })

  test('an intent without id, amount or currency is unknown', () => {
    for (const missing of ['id', 'amount', 'currency']) {
      expect(readIntent(intentOf('succeeded', { [missing]: undefined }), asked).authorization.kind).toBe(
        'unknown',
      )
    }
  })

  test('a 3-D Secure challenge becomes a redirect', () => {
    const next_action = {
      type: 'redirect_to_url',
      redirect_to_url: { url: 'https://hooks.stripe.com/3ds', return_url: 'https://shop.example' },
    }
    const intent = intentOf('requires_action', { next_action, payment_method_types: ['card'] })
    expect(readIntent(intent, asked).authorization).toMatchObject({
      kind: 'action',
      action: { type: 'redirect', url: 'https://hooks.stripe.com/3ds', verb: 'GET', challenge: true },
      provider: { transactionId: 'pi_1' },
    })
  })

  test.each([
    [
      'multibanco_display_details',
      { entity: '12345', reference: '123 456 789' },
      { entity: '12345', reference: '123 456 789' },
    ],
    [
      'boleto_display_details',
      { number: '0123', pdf: 'https://x.example/p.pdf', expires_at: 1_800_000_000 },
      { barcode: '0123', downloadUrl: 'https://x.example/p.pdf', deadline: new Date(1_800_000_000_000) },
    ],
    [
      'oxxo_display_details',
      { number: '77', expires_after: 1_800_000_000 },
      { reference: '77', deadline: new Date(1_800_000_000_000) },
    ],
    ['konbini_display_details', { stores: { lawson: { payment_code: '55' } } }, { reference: '55' }],
    ['pix_display_qr_code', { data: '000201' }, { qrCode: '000201' }],
    ['paynow_display_qr_code', { data: '000202' }, { qrCode: '000202' }],
    ['promptpay_display_qr_code', { data: '000203' }, { qrCode: '000203' }],
    ['wechat_pay_display_qr_code', { data: 'weixin://1' }, { qrCode: 'weixin://1' }],
    [
      'display_bank_transfer_instructions',
      {
        reference: 'R1',
        financial_addresses: [
          { type: 'iban', iban: { iban: 'DE1', bic: 'B1', account_holder_name: 'Stripe' } },
        ],
      },
      { reference: 'R1', iban: 'DE1', bic: 'B1', accountHolderName: 'Stripe' },
    ],
  ])('%s is shown as instructions', (type, details, instructions) => {
    const intent = intentOf('requires_action', { next_action: { type, [type]: details } })
    expect(readIntent(intent, asked).authorization).toMatchObject({
      kind: 'action',
      action: { type: 'instructions', instructions },
    })
  })

  test('an action that we cannot show is pending', () => {
    const intent = intentOf('requires_action', {
      next_action: { type: 'blik_authorize', blik_authorize: {} },
    })
    expect(readIntent(intent, asked).authorization.kind).toBe('pending')
  })

  test('a capture has the amount by which the total has grown', () => {
    const request = followUpOf('CAPTURE', { newTotal: 700 })
    const total = { name: 'amount_received', id: 'pi_1' } as const
    const capture = (received: number) =>
      readTotal(intentOf('requires_capture', { amount_received: received }), request, total)
    expect(capture(700)).toMatchObject({
      kind: 'approved',
      provider: { echo: { reference, amount: { value: 400 } }, transactionId: 'ch_1' },
    })
    expect(capture(300)).toMatchObject({ provider: { echo: { amount: { value: 0 } } } })
    expect(readTotal(intentOf('succeeded', { id: 'pi_2' }), request, total).kind).toBe('unknown')
  })

  test('a reversal releases the whole rest', () => {
    const rest = { reference, amount: { value: 600, currency: 'EUR' } }
    expect(readRelease(intentOf('canceled'), rest, 'pi_1').kind).toBe('approved')
    const released = { amount_capturable: 0, amount_received: 400 }
    expect(readRelease(intentOf('succeeded', released), rest, 'pi_1').kind).toBe('approved')
    // Captured in the dashboard before the reversal arrived.
    for (const received of [700, 1000]) {
      const captured = intentOf('succeeded', { amount_capturable: 0, amount_received: received })
      expect(readRelease(captured, rest, 'pi_1').kind).toBe('unknown')
    }
    expect(readRelease(intentOf('requires_capture'), rest, 'pi_1').kind).toBe('unknown')
  })

  test('the reference of the capture is read from the intent', () => {
    const intent = intentOf('succeeded', {
      metadata: { tollgate: reference, tollgate_capture: captureReference },
    })
    expect(readIntent(intent, { reference, amount: asked.amount }).capture).toMatchObject({
      kind: 'approved',
      provider: { echo: { reference: captureReference } },
    })
  })

  test('a method that was set up for later payments returns its token', () => {
    const intent = intentOf('succeeded', {
      customer: 'cus_1',
      payment_method: 'pm_1',
      setup_future_usage: 'off_session',
    })
    expect(readIntent(intent, asked).authorization).toMatchObject({
      provider: { providerToken: 'cus_1/pm_1' },
    })
  })
})
