/** Everything that a shop uses. */
export { isUnknown, type Outcome, Tollgate, type UnknownOutcome } from './client.ts'
export * from './errors.ts'
export type * from './generated.ts'
export type { CallOptions, TollgateOptions } from './transport.ts'
export { type ReceivedWebhook, type VerifiedWebhook, verifyWebhook } from './webhooks.ts'
