/**
 * Authentication by Basic, Bearer or, for endpoints that allow it, a bare API key. A verified header is cached for a
 * few seconds under a salted hash, so that most requests cost one hash. Wrong headers are never cached.
 */
import { hash, randomBytes } from 'node:crypto'
import type { KeyRights } from '#domain/api-key.ts'
import type { Merchant } from '#domain/merchant.ts'
import { Refusal, refuseUnauthenticated } from '#http/answers/refusal.ts'
import { type AccessTokens, timeOf } from '#http/authentication/access-token.ts'
import { BoundedMap } from '#http/authentication/bounded-map.ts'
import {
  type Client,
  type ClientCheck,
  findClient,
  findClientByKey,
  isMerchantId,
} from '#http/authentication/client-check.ts'
import type { FailedLogins } from '#http/authentication/rate-limit.ts'
import type { Access, Endpoint } from '#http/endpoint.ts'
import { type AddressList, createAddressList } from '#http/server/client-address.ts'
import type { AccessWatch } from '#http/server/ports.ts'

export interface Caller {
  readonly merchant: Merchant
  /** Set if the credential is restricted to one payment intent. */
  readonly intentId: string | undefined
  /** The presented key, or the key that requested the access token; undefined for tokens of an earlier release. */
  readonly key: KeyRights | undefined
}

export interface Question {
  readonly authorization: string | undefined
  readonly apiKey: string | undefined
  readonly access: Access
  readonly scope: Endpoint['scope']
  readonly address: string
  /** The object id in the path, for access `intent`. */
  readonly id: string | undefined
}

export interface AuthenticationPorts extends ClientCheck {
  readonly accessTokens: AccessTokens
  readonly failedLogins: FailedLogins
  readonly watch: AccessWatch
  readonly nowMs: () => number
}

export interface Authentication {
  /** Synchronous if the header is cached, otherwise a promise. */
  authenticate(question: Question): Caller | Refusal | Promise<Caller | Refusal>
}

interface Remembered extends Caller {
  readonly addresses: AddressList
  readonly untilMs: number
}

/** 10,000 headers: enough for all merchants of a busy process with several keys and access tokens each. */
const rememberedMax = 10_000
/** 5 s: the longest time for which another process may still accept a revoked key. */
const rememberedMs = 5_000
/** 4 KiB: four times our longest access token; longer ones are not ours. */
const headerMax = 4_096

const missing =
  'This endpoint needs credentials: Basic with merchant id and API key, or a Bearer access token.'
const malformed = 'The credentials are not in a form that this endpoint takes.'
const wrong = 'The merchant id or the API key is wrong.'
const stale = 'The access token is not valid, or not any more.'

/** The result of verifying credentials, before rights are checked. `client`: the failure counts against this client. */
type Verified = Remembered | { readonly refusal: Refusal; readonly client: string | undefined }

const fail = (detail: string, client?: string): Verified => ({
  refusal: refuseUnauthenticated(detail),
  client,
})

export function createAuthentication(ports: AuthenticationPorts): Authentication {
  const remembered = new BoundedMap<string, Remembered>(rememberedMax)
  const running = new Map<string, Promise<Verified>>()
  const salt = randomBytes(32).toString('base64')
  let changes = 0
  ports.credentials.onChange(merchantId => {
    changes++
    remembered.deleteWhere(entry => entry.merchant.merchantId === merchantId)
  })

  async function verifyAndRemember(name: string, question: Question): Promise<Verified> {
    const changesBefore = changes
    const verified = await verify(question, ports)
    // If credentials changed during the look-up, its result may be outdated and is not cached.
    if (!('refusal' in verified) && changes === changesBefore) remembered.set(name, verified)
    return verified
  }

  /** Concurrent requests with the same header share one look-up. */
  async function lookUp(name: string, question: Question): Promise<Caller | Refusal> {
    let verification = running.get(name)
    if (verification === undefined) {
      verification = verifyAndRemember(name, question).finally(() => running.delete(name))
      running.set(name, verification)
    }
    const verified = await verification
    if (!('refusal' in verified)) return grant(verified, question, ports.watch)
    if (verified.client === undefined) return verified.refusal
    ports.watch.onFailedLogin(verified.client, question.address)
    return ports.failedLogins.count(verified.client, question.address) ?? verified.refusal
  }

  return {
    authenticate(question) {
      const { authorization, apiKey, access } = question
      const header = authorization ?? (access === 'customer' ? apiKey : undefined)
      if (header === undefined) return refuseUnauthenticated(missing)
      if (header.length > headerMax) return refuseUnauthenticated(malformed)
      const name = hash(
        'sha256',
        `${salt}${authorization === undefined ? 'key' : 'header'}:${header}`,
        'base64',
      )
      const known = remembered.get(name)
      if (known !== undefined && known.untilMs > ports.nowMs()) return grant(known, question, ports.watch)
      return lookUp(name, question)
    },
  }
}

/** Checks whether valid credentials allow this request. */
function grant(caller: Remembered, question: Question, watch: AccessWatch): Caller | Refusal {
  const { access, id } = question
  if (caller.merchant.disabled) return new Refusal('forbidden', 'This merchant is disabled.')
  if (caller.intentId !== undefined && (access !== 'intent' || caller.intentId !== id)) {
    return new Refusal(
      'forbidden',
      'This access token only reads and confirms the payment intent that it was made for.',
    )
  }
  return refuseByKey(caller, question, watch) ?? caller
}

/**
 * Checks the address list and scopes of the API key. An intent's token is on a customer's device, so the address list
 * does not apply to it; it applied to the server that requested the token. Since the token confirms payments, its key
 * needs the scope `payments`; reading the intent needs no other scope.
 */
function refuseByKey(
  { key, merchant, intentId, addresses }: Remembered,
  { address, scope }: Question,
  watch: AccessWatch,
): Refusal | undefined {
  if (key === undefined) return undefined
  if (intentId === undefined) {
    const allowed = addresses.allows(address)
    watch.onKeyUse({ merchantId: merchant.merchantId, keyId: key.keyId, address, allowed })
    if (!allowed) return new Refusal('forbidden', 'This API key must not be used from this address.')
  }
  const needed = intentId === undefined ? scope : 'payments'
  if (needed === 'none' || key.scopes.includes(needed)) return undefined
  return new Refusal('forbidden', `This API key lacks the scope ${needed}, which this endpoint needs.`)
}

async function verify({ authorization, apiKey }: Question, ports: AuthenticationPorts): Promise<Verified> {
  if (authorization === undefined) return verifyApiKey(apiKey ?? '', ports)
  const space = authorization.indexOf(' ')
  const scheme = authorization.slice(0, Math.max(0, space))
  const value = authorization.slice(space + 1).trim()
  if (/\s/.test(value)) return fail(malformed)
  if (/^basic$/i.test(scheme)) return verifyBasic(value, ports)
  if (/^bearer$/i.test(scheme)) return verifyBearer(value, ports)
  return fail(malformed)
}

const remember = ({ merchant, key }: Client, ports: AuthenticationPorts): Remembered => ({
  merchant,
  key,
  addresses: createAddressList(key.allowFrom),
  intentId: undefined,
  untilMs: Math.min(ports.nowMs() + rememberedMs, key.expiresAtMs ?? Number.POSITIVE_INFINITY),
})

async function verifyBasic(value: string, ports: AuthenticationPorts): Promise<Verified> {
  const text = Buffer.from(value, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 1) return fail(malformed)
  const merchantId = text.slice(0, colon)
  const client = await findClient(merchantId, text.slice(colon + 1), ports)
  return client ? remember(client, ports) : fail(wrong, isMerchantId(merchantId) ? merchantId : undefined)
}

async function verifyApiKey(apiKey: string, ports: AuthenticationPorts): Promise<Verified> {
  const client = await findClientByKey(apiKey, ports)
  // A bare key names no client, so all wrong keys from one address are counted together.
  return client ? remember(client, ports) : fail(wrong, 'X-API-Key')
}

/** Wrong access tokens are not counted: they do not prove which client sent them, and a signature cannot be guessed. */
async function verifyBearer(value: string, ports: AuthenticationPorts): Promise<Verified> {
  const claims = await ports.accessTokens.read(value)
  const found = claims && (await ports.credentials.find(claims.merchantId))
  if (claims === undefined || found === undefined) return fail(stale)
  const { merchant } = found
  const now = ports.nowMs()
  const merchantNow = timeOf(merchant, now)
  if (claims.expiresAtMs <= merchantNow || claims.notBeforeMs > merchantNow) return fail(stale)
  const key = found.keys.find(({ keyId }) => keyId === claims.keyId)
  // The token's key was revoked, has expired or was rotated out. Tokens of an earlier release name no key and expire
  // within the hour.
  if (claims.keyId !== undefined && key === undefined) return fail(stale)
  return {
    merchant,
    key,
    addresses: createAddressList(key?.allowFrom ?? []),
    intentId: claims.intentId,
    untilMs: Math.min(
      now + rememberedMs,
      now + claims.expiresAtMs - merchantNow,
      key?.expiresAtMs ?? Number.POSITIVE_INFINITY,
    ),
  }
}
