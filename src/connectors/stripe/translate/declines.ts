/**
 * Maps Stripe's decline codes to the last four digits of our response codes. `decline_code` is the more precise of
 * Stripe's two codes and is looked up first. An unlisted code is a general decline.
 */
import { entryOf } from '#domain/json.ts'

/** "Do not honour": the issuer gives no reason. */
export const generalDecline = '0305'
export const timedOut = '0402'
export const cancelledByCustomer = '0703'
export const malfunction = '0396'
export const notPermitted = '0312'

/** The decline codes for each detail, from https://docs.stripe.com/declines/codes, for cards and local methods. */
const declineCodesByDetail: Readonly<Record<string, string>> = {
  '0302': 'call_issuer approve_with_id',
  '0304': 'pickup_card',
  [generalDecline]: `
    do_not_honor generic_decline no_action_taken do_not_try_again new_account_information_available testmode_decline
    partner_generic_decline live_mode_test_card test_mode_live_card authentication_required authentication_not_handled
    mobile_device_authentication_required revocation_of_authorization revocation_of_all_authorizations
    stop_payment_order security_violation invalid_authorization invalid_billing_agreement
  `,
  [notPermitted]:
    'duplicate_transaction invalid_business_account compliance_violation partner_payment_not_found',
  '0313': 'invalid_amount',
  '0314': `
    incorrect_number invalid_number invalid_account incorrect_cvc invalid_cvc incorrect_zip incorrect_address
    incorrect_pin invalid_pin invalid_customer_account invalid_payment_information
  `,
  '0334': 'fraudulent merchant_blacklist partner_high_risk_customer payment_disputed',
  '0341': 'lost_card',
  '0343': 'stolen_card',
  '0351': 'insufficient_funds',
  '0354': 'expired_card invalid_expiry_month invalid_expiry_year expired_payment_information',
  '0357': `
    card_not_supported currency_not_supported not_permitted service_not_allowed transaction_not_allowed
    offline_pin_required online_or_offline_pin_required debit_not_authorized
  `,
  '0361': 'card_velocity_exceeded payment_limit_exceeded',
  '0362': 'restricted_card',
  '0365': 'withdrawal_count_limit_exceeded pin_try_exceeded',
  '0391': 'issuer_not_available try_again_later',
  '0396': 'processing_error reenter_transaction',
}

/** `code` of error objects, for answers without `decline_code`. Codes of Stripe's other products are left out. */
const errorCodesByDetail: Readonly<Record<string, string>> = {
  [generalDecline]: `
    card_declined authentication_required payment_intent_authentication_failure setup_intent_authentication_failure
    authentication_failure payment_method_provider_decline payment_intent_payment_attempt_failed bank_account_declined
    setup_attempt_failed payment_method_unactivated approval_required refer_to_customer
  `,
  [notPermitted]: `
    payment_intent_unexpected_state payment_method_unexpected_state intent_invalid_state status_transition_invalid
    charge_already_captured charge_already_refunded charge_not_refundable charge_disputed refund_disputed_payment
    capture_unauthorized_payment invalid_charge_amount resource_missing resource_already_exists missing
    parameter_missing parameter_unknown parameter_invalid_empty parameter_invalid_integer
    parameter_invalid_string_blank parameter_invalid_string_empty parameters_exclusive invalid_characters url_invalid
    payment_intent_invalid_parameter payment_intent_incompatible_payment_method payment_method_invalid_parameter
    payment_method_invalid_parameter_testmode payment_method_unsupported_type payment_method_not_available
    payment_method_currency_mismatch payment_method_configuration_failures payment_method_restricted
    payment_method_billing_details_address_missing payment_intent_action_required charge_invalid_parameter
    payment_intent_konbini_rejected_confirmation_number invalid_source_usage token_already_used token_in_use
    token_card_network_invalid country_unsupported state_unsupported capability_not_active testmode_charges_only
    livemode_mismatch not_allowed_on_standard_account platform_account_required return_intent_already_processed
    alipay_upgrade_required acss_debit_session_incomplete email_invalid shipping_address_invalid
    three_d_secure_authentication_not_supported dispute_evidence_page_limit_exceeded smart_disputes_not_available
    customer_max_payment_methods invalid_card_type country_code_invalid
  `,
  '0313': 'amount_too_large amount_too_small',
  '0314': `
    incorrect_number invalid_number incorrect_cvc invalid_cvc incorrect_zip incorrect_postal_code postal_code_invalid
    incorrect_address account_invalid account_number_invalid account_closed no_account bank_account_unusable
    bank_account_restricted bank_account_bad_routing_numbers routing_number_invalid sepa_unsupported_account
    bank_account_unverified bank_account_verification_failed payment_method_bank_account_blocked
    account_information_mismatch billing_invalid_mandate payment_intent_mandate_invalid setup_intent_mandate_invalid
    india_recurring_payment_mandate_canceled invalid_mandate_reference_prefix_format
  `,
  '0334': 'request_blocked action_blocked anomalous_money_movement_request',
  '0351': 'insufficient_funds balance_insufficient',
  '0354': 'expired_card expired_payment_method invalid_expiry_month invalid_expiry_year',
  '0357': 'debit_not_authorized',
  '0361': 'charge_exceeds_source_limit charge_exceeds_transaction_limit',
  '0365': 'card_decline_rate_limit_exceeded payment_intent_rate_limit_exceeded',
  '0391': 'payment_method_provider_timeout three_d_secure_authentication_upstream_error',
  [malfunction]: `
    processing_error api_key_expired platform_api_key_expired secret_key_required tls_version_unsupported rate_limit
    lock_timeout idempotency_key_in_use
  `,
  [timedOut]: `
    payment_intent_payment_attempt_expired setup_intent_setup_attempt_expired capture_charge_authorization_expired
    charge_expired_for_capture customer_session_expired
  `,
  [cancelledByCustomer]: 'payment_method_customer_decline',
}

/** Why an intent was cancelled or expired. */
const cancellationReasons: Readonly<Record<string, string>> = {
  abandoned: cancelledByCustomer,
  requested_by_customer: cancelledByCustomer,
  duplicate: cancelledByCustomer,
  failed_invoice: cancelledByCustomer,
  void_invoice: cancelledByCustomer,
  fraudulent: '0334',
  automatic: timedOut,
  expired: timedOut,
}

/** Return reasons of debits, which Stripe reports as dispute reasons. */
export const debitReturnReasons: Readonly<Record<string, string>> = {
  insufficient_funds: '0351',
  incorrect_account_details: '0314',
  bank_cannot_process: '0391',
  check_returned: generalDecline,
  customer_initiated: generalDecline,
  debit_not_authorized: '0357',
}

export const declineDetails = invert(declineCodesByDetail)
export const errorDetails = invert(errorCodesByDetail)

function invert(byDetail: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(byDetail).flatMap(([detail, codes]) =>
      codes
        .trim()
        .split(/\s+/)
        .map((code): [string, string] => [code, detail]),
    ),
  )
}

export const detailOfDecline = (declineCode: string | undefined, code: string | undefined): string =>
  declineDetails.get(declineCode ?? '') ?? errorDetails.get(code ?? '') ?? generalDecline

export const detailOfCancellation = (reason: string | undefined): string =>
  entryOf(cancellationReasons, reason ?? '') ?? cancelledByCustomer

export const detailOfReturn = (reason: string): string =>
  entryOf(debitReturnReasons, reason) ?? generalDecline
