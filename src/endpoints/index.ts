/** The whole API in one table. Read this first; each line is a file that says everything about one operation. */
import { token } from '#endpoints/authorization/token.ts'
import { captureEndpoint } from '#endpoints/payments/capture.ts'
import { createPaymentEndpoint } from '#endpoints/payments/create.ts'
import { getByPayIdEndpoint } from '#endpoints/payments/get-by-pay-id.ts'
import { getByTransIdEndpoint } from '#endpoints/payments/get-by-trans-id.ts'
import type { Services } from '#endpoints/services.ts'
import type { Endpoint } from '#http/endpoint.ts'

export const endpoints: readonly Endpoint<Services>[] = [
  token, //                 POST /authorization/oauth/token
  createPaymentEndpoint, // POST /payments
  captureEndpoint, //       POST /payments/{id}/captures
  getByPayIdEndpoint, //    GET  /payments/getByPayId/{id}
  getByTransIdEndpoint, //  GET  /payments/getByTransId/{id}
]
