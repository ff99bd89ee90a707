/** The whole API in one table. Read this first; each line is a file that says everything about one operation. */
import { token } from '#endpoints/authorization/token.ts'
import { getEventEndpoint } from '#endpoints/events/get.ts'
import { listEventsEndpoint } from '#endpoints/events/list.ts'
import { replayEventEndpoint } from '#endpoints/events/replay.ts'
import { captureEndpoint } from '#endpoints/payments/capture.ts'
import { confirmEndpoint } from '#endpoints/payments/confirm.ts'
import { createPaymentEndpoint } from '#endpoints/payments/create.ts'
import { creditEndpoint } from '#endpoints/payments/credit.ts'
import { getByPayIdEndpoint } from '#endpoints/payments/get-by-pay-id.ts'
import { getByTransIdEndpoint } from '#endpoints/payments/get-by-trans-id.ts'
import { incrementalEndpoint } from '#endpoints/payments/increment.ts'
import { refundEndpoint } from '#endpoints/payments/refund.ts'
import { reversalEndpoint } from '#endpoints/payments/reverse.ts'
import { updateEndpoint } from '#endpoints/payments/update.ts'
import type { Services } from '#endpoints/services.ts'
import { getClockEndpoint, moveClockEndpoint } from '#endpoints/test/clock.ts'
import { customerActionEndpoint } from '#endpoints/test/customer-action.ts'
import { addFaultEndpoint, clearFaultsEndpoint, listFaultsEndpoint } from '#endpoints/test/faults.ts'
import type { Endpoint } from '#http/endpoint.ts'

export const endpoints: readonly Endpoint<Services>[] = [
  token, //                  POST   /authorization/oauth/token

  createPaymentEndpoint, //  POST   /payments
  creditEndpoint, //         POST   /payments/refunds
  confirmEndpoint, //        POST   /payments/{id}/confirms
  incrementalEndpoint, //    POST   /payments/{id}/incrementals
  reversalEndpoint, //       POST   /payments/{id}/reversals
  captureEndpoint, //        POST   /payments/{id}/captures
  refundEndpoint, //         POST   /payments/{id}/refunds
  updateEndpoint, //         PATCH  /payments/{id}
  getByPayIdEndpoint, //     GET    /payments/getByPayId/{id}
  getByTransIdEndpoint, //   GET    /payments/getByTransId/{id}

  listEventsEndpoint, //     GET    /events
  getEventEndpoint, //       GET    /events/{id}
  replayEventEndpoint, //    POST   /events/{id}/replays

  // The levers of the test environment; live knows none of them.
  getClockEndpoint, //       GET    /test/clock
  moveClockEndpoint, //      POST   /test/clock
  addFaultEndpoint, //       POST   /test/faults
  listFaultsEndpoint, //     GET    /test/faults
  clearFaultsEndpoint, //    DELETE /test/faults
  customerActionEndpoint, // POST   /test/payments/{payId}/customer-action
]
