/** The whole API in one table. Read this first; each line is a file that says everything about one operation. */
import { token } from '#endpoints/authorization/token.ts'
import { deleteCustomerEndpoint } from '#endpoints/customers/delete.ts'
import { deleteMethodEndpoint } from '#endpoints/customers/delete-method.ts'
import { getCustomerEndpoint } from '#endpoints/customers/get.ts'
import { getMethodEndpoint } from '#endpoints/customers/get-method.ts'
import { listCustomersEndpoint } from '#endpoints/customers/list.ts'
import { listStoredMethodsEndpoint } from '#endpoints/customers/list-methods.ts'
import { listCustomerPlansEndpoint } from '#endpoints/customers/list-plans.ts'
import { updateCustomerEndpoint } from '#endpoints/customers/update.ts'
import { acceptDisputeEndpoint } from '#endpoints/disputes/accept.ts'
import { submitEvidenceEndpoint } from '#endpoints/disputes/evidence.ts'
import { getDisputeEndpoint } from '#endpoints/disputes/get.ts'
import { listDisputesEndpoint } from '#endpoints/disputes/list.ts'
import { getEventEndpoint } from '#endpoints/events/get.ts'
import { listEventsEndpoint } from '#endpoints/events/list.ts'
import { replayEventEndpoint } from '#endpoints/events/replay.ts'
import { listOperationsEndpoint } from '#endpoints/operations/list.ts'
import { confirmIntentEndpoint } from '#endpoints/payment-intents/confirm.ts'
import { createIntentEndpoint } from '#endpoints/payment-intents/create.ts'
import { cancelIntentEndpoint, getIntentEndpoint } from '#endpoints/payment-intents/get.ts'
import { listMethodsEndpoint } from '#endpoints/payment-methods/list.ts'
import { cancelPlanEndpoint } from '#endpoints/payment-plans/cancel.ts'
import { patchPlanEndpoint, pausePlanEndpoint, resumePlanEndpoint } from '#endpoints/payment-plans/change.ts'
import { chargePlanEndpoint } from '#endpoints/payment-plans/charge.ts'
import { getPlanEndpoint } from '#endpoints/payment-plans/get.ts'
import { listPlansEndpoint } from '#endpoints/payment-plans/list.ts'
import { listPlanPaymentsEndpoint } from '#endpoints/payment-plans/list-payments.ts'
import { unscheduledPaymentEndpoint } from '#endpoints/payment-plans/unscheduled.ts'
import { cancelPaymentEndpoint } from '#endpoints/payments/cancel.ts'
import { captureEndpoint } from '#endpoints/payments/capture.ts'
import { confirmEndpoint } from '#endpoints/payments/confirm.ts'
import { createPaymentEndpoint } from '#endpoints/payments/create.ts'
import { creditEndpoint } from '#endpoints/payments/credit.ts'
import { getByPayIdEndpoint } from '#endpoints/payments/get-by-pay-id.ts'
import { getByTransIdEndpoint } from '#endpoints/payments/get-by-trans-id.ts'
import { incrementalEndpoint } from '#endpoints/payments/increment.ts'
import { linkEndpoint } from '#endpoints/payments/link.ts'
import { getLinkEndpoint, listLinksEndpoint, updateLinkEndpoint } from '#endpoints/payments/links.ts'
import { listPaymentsEndpoint } from '#endpoints/payments/list.ts'
import { refundEndpoint } from '#endpoints/payments/refund.ts'
import { reversalEndpoint } from '#endpoints/payments/reverse.ts'
import { sessionEndpoint } from '#endpoints/payments/session.ts'
import { updateEndpoint } from '#endpoints/payments/update.ts'
import { accountUpdaterEndpoint } from '#endpoints/services/account-updater.ts'
import { binLookupEndpoint } from '#endpoints/services/bin-lookup.ts'
import { dccQuoteEndpoint } from '#endpoints/services/dcc-quote.ts'
import { duplicationCheckEndpoint } from '#endpoints/services/duplication-check.ts'
import { tokenizeEndpoint } from '#endpoints/services/tokenize.ts'
import type { Services } from '#endpoints/services.ts'
import { listSettlementsEndpoint } from '#endpoints/settlements/list.ts'
import { testCatalogueEndpoint } from '#endpoints/test/catalogue.ts'
import { getClockEndpoint, moveClockEndpoint } from '#endpoints/test/clock.ts'
import { customerActionEndpoint } from '#endpoints/test/customer-action.ts'
import { addFaultEndpoint, clearFaultsEndpoint, listFaultsEndpoint } from '#endpoints/test/faults.ts'
import { sampleEventEndpoint } from '#endpoints/test/sample-event.ts'
import type { Endpoint } from '#http/endpoint.ts'

export const endpoints: readonly Endpoint<Services>[] = [
  token, //                  POST   /authorization/oauth/token

  sessionEndpoint, //        POST   /payments/sessions
  createPaymentEndpoint, //  POST   /payments
  creditEndpoint, //         POST   /payments/refunds
  confirmEndpoint, //        POST   /payments/{id}/confirms
  incrementalEndpoint, //    POST   /payments/{id}/incrementals
  reversalEndpoint, //       POST   /payments/{id}/reversals
  captureEndpoint, //        POST   /payments/{id}/captures
  refundEndpoint, //         POST   /payments/{id}/refunds
  updateEndpoint, //         PATCH  /payments/{id}
  cancelPaymentEndpoint, //  POST   /payments/{id}/cancellations
  listLinksEndpoint, //      GET    /payments/links
  getLinkEndpoint, //        GET    /payments/links/{id}
  updateLinkEndpoint, //     PATCH  /payments/links/{id}
  linkEndpoint, //           POST   /payments/links
  listPaymentsEndpoint, //   GET    /payments
  listOperationsEndpoint, // GET    /operations
  getByPayIdEndpoint, //     GET    /payments/getByPayId/{id}
  getByTransIdEndpoint, //   GET    /payments/getByTransId/{id}

  listMethodsEndpoint, //    GET    /payment-methods
  createIntentEndpoint, //   POST   /payment-intents
  getIntentEndpoint, //      GET    /payment-intents/{id}
  cancelIntentEndpoint, //   POST   /payment-intents/{id}/cancel
  confirmIntentEndpoint, //  POST   /payment-intents/{id}/confirm
  listCustomersEndpoint, //  GET    /customers
  getCustomerEndpoint, //    GET    /customers/{id}
  updateCustomerEndpoint, // PATCH  /customers/{id}
  deleteCustomerEndpoint, // DELETE /customers/{id}
  listStoredMethodsEndpoint, // GET /customers/{id}/paymentMethods
  getMethodEndpoint, //      GET    /customers/{customerId}/paymentMethods/{paymentMethodId}
  deleteMethodEndpoint, //   DELETE /customers/{customerId}/paymentMethods/{paymentMethodId}
  listCustomerPlansEndpoint, // GET  /customers/{customerId}/payment-plans
  listPlansEndpoint, //      GET    /payment-plans
  getPlanEndpoint, //        GET    /payment-plans/{paymentPlanId}
  chargePlanEndpoint, //     POST   /payment-plans/{paymentPlanId}/charge
  patchPlanEndpoint, //      PATCH  /payment-plans/{paymentPlanId}
  pausePlanEndpoint, //      POST   /payment-plans/{paymentPlanId}/pause
  resumePlanEndpoint, //     POST   /payment-plans/{paymentPlanId}/resume
  cancelPlanEndpoint, //     POST   /payment-plans/{paymentPlanId}/cancel
  listPlanPaymentsEndpoint, // GET  /payment-plans/{paymentPlanId}/payments
  unscheduledPaymentEndpoint, // POST /payment-plans/unscheduled-mit
  duplicationCheckEndpoint, // POST  /services/duplicationCheck
  accountUpdaterEndpoint, // POST   /services/accountUpdater
  binLookupEndpoint, //      POST   /services/binLookup
  dccQuoteEndpoint, //       POST   /services/dccQuote
  tokenizeEndpoint, //       POST   /services/tokenService
  listEventsEndpoint, //     GET    /events
  getEventEndpoint, //       GET    /events/{id}
  replayEventEndpoint, //    POST   /events/{id}/replays

  listDisputesEndpoint, //   GET    /disputes
  getDisputeEndpoint, //     GET    /disputes/{id}
  acceptDisputeEndpoint, //  POST   /disputes/{id}/accept
  submitEvidenceEndpoint, // POST   /disputes/{id}/evidence
  listSettlementsEndpoint, // GET   /settlements

  // The tools of the test environment; they do not exist in live.
  testCatalogueEndpoint, //  GET    /test/catalogue
  getClockEndpoint, //       GET    /test/clock
  moveClockEndpoint, //      POST   /test/clock
  addFaultEndpoint, //       POST   /test/faults
  listFaultsEndpoint, //     GET    /test/faults
  clearFaultsEndpoint, //    DELETE /test/faults
  sampleEventEndpoint, //    POST   /test/payments/{payId}/events
  customerActionEndpoint, // POST   /test/payments/{payId}/customer-action
]
