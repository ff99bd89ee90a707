/**
 * The logic of the token endpoint: exchanges a merchant's API key for an access token. Its errors have the format of
 * RFC 6749, as the API contract defines them. The form is validated here and not by a schema, because the grant type
 * decides how the rest is validated and has its own error.
 */

import type { MerchantId } from '#domain/ids.ts'
import { errorDocs, renderRefusal } from '#http/answers/dialects.ts'
import { Refusal, refuseField, refuseUnauthenticated } from '#http/answers/refusal.ts'
import type { AccessTokens } from '#http/authentication/access-token.ts'
import { type ClientCheck, findClient, isMerchantId } from '#http/authentication/client-check.ts'
import type { FailedLogins } from '#http/authentication/rate-limit.ts'
import { cutName } from '#http/body/json-text.ts'
import { type Answer, answer } from '#http/endpoint.ts'
import { createAddressList } from '#http/server/client-address.ts'
import type { AccessWatch } from '#http/server/ports.ts'

export type Form = Readonly<Record<string, string>>

export interface IssueTokenPorts extends ClientCheck {
  readonly accessTokens: AccessTokens
  readonly failedTokenRequests: FailedLogins
  readonly watch: AccessWatch
  /** Whether the merchant has this payment intent. Absent: none is ever found. */
  readonly findIntent?: (merchantId: MerchantId, id: string) => Promise<boolean>
}

export interface TokenContext {
  readonly address: string
  readonly traceId: string
}

export type IssueToken = (form: Form, context: TokenContext) => Promise<Answer>

const grantTypes = ['client_credentials', 'payment_intents']
const knownFields = ['grant_type', 'client_id', 'client_secret', 'payment_intent_id']
/** By RFC 6749: a credential must not be cached. */
const noStore = { 'cache-control': 'no-store', pragma: 'no-cache' }

/** Validates the other fields of the form, before the client is looked up. */
function judgeForm(form: Form): Refusal | undefined {
  const unknown = Object.keys(form).find(name => !knownFields.includes(name))
  if (unknown !== undefined) {
    return refuseField(
      unknown,
      `${cutName(unknown)} is not a known field; known are ${knownFields.join(', ')}.`,
    )
  }
  if (!form.client_id) return refuseField('client_id', 'client_id is missing; it is the merchant id.')
  if (!form.client_secret) return refuseField('client_secret', 'client_secret is missing; it is the API key.')
  const intentWanted = form.grant_type === 'payment_intents'
  if (intentWanted && !form.payment_intent_id) {
    return refuseField('payment_intent_id', 'payment_intent_id is missing; this grant type needs it.')
  }
  if (!intentWanted && form.payment_intent_id !== undefined) {
    return refuseField(
      'payment_intent_id',
      'payment_intent_id is taken with the grant type payment_intents only.',
    )
  }
  return undefined
}

/** The API contract defines 401 here, although the credentials were not checked. */
const unsupportedGrantType = answer(
  401,
  {
    error: 'unsupported_grant_type',
    error_description: `Allowed grant types are ${grantTypes.join(' and ')}.`,
    error_uri: errorDocs,
  },
  { ...refuseUnauthenticated('').headers, ...noStore },
)

async function decide(form: Form, address: string, ports: IssueTokenPorts): Promise<Answer | Refusal> {
  const { grant_type: grantType, client_id: clientId = '', client_secret: clientSecret = '' } = form
  const intentId = form.payment_intent_id
  if (!grantType)
    return refuseField('grant_type', `grant_type is missing; allowed is ${grantTypes.join(' or ')}.`)
  if (!grantTypes.includes(grantType)) return unsupportedGrantType
  const flaw = judgeForm(form)
  if (flaw) return flaw
  const client = await findClient(clientId, clientSecret, ports)
  if (client === undefined) {
    if (isMerchantId(clientId)) ports.watch.onFailedLogin(clientId, address)
    // Only wrong credentials are counted, because they may be guesses. A client_id that cannot be a merchant's is no
    // guess.
    const tooMany = isMerchantId(clientId) ? ports.failedTokenRequests.count(clientId, address) : undefined
    return tooMany ?? refuseUnauthenticated('client_id or client_secret is wrong.')
  }
  const { merchant, key } = client
  if (merchant.disabled) return new Refusal('forbidden', 'This merchant is disabled.')
  const { merchantId } = merchant
  const allowed = createAddressList(key.allowFrom).allows(address)
  ports.watch.onKeyUse({ merchantId, keyId: key.keyId, address, allowed })
  if (!allowed) return new Refusal('forbidden', 'This API key must not be used from this address.')
  // The token confirms payments; without this scope every request with it would be refused on the customer's device.
  if (intentId !== undefined && !key.scopes.includes('payments')) {
    return new Refusal(
      'forbidden',
      'This API key lacks the scope payments, which the token of a payment intent needs.',
    )
  }
  if (intentId !== undefined && !(await ports.findIntent?.(merchantId, intentId))) {
    return refuseField('payment_intent_id', 'payment_intent_id names no payment intent of this merchant.')
  }
  const { accessToken, expiresInSeconds } = await ports.accessTokens.issue(merchant, intentId, key)
  return answer(
    200,
    { access_token: accessToken, token_type: 'bearer', expires_in: expiresInSeconds },
    noStore,
  )
}

export function createIssueToken(ports: IssueTokenPorts): IssueToken {
  return async (form, { address, traceId }) => {
    const decided = await decide(form, address, ports)
    if (!(decided instanceof Refusal)) return decided
    const { status, body } = renderRefusal('token', decided, { traceId })
    return { status, json: body, headers: { ...decided.headers, ...noStore } }
  }
}
