/**
 * Authentication: Basic, Bearer or (where the endpoint says so) a bare API key. A verified header is cached for a few
 * seconds under its keyed hash, so that an ordinary request costs one hash; wrong headers are never cached.
 */
import { hash, randomBytes } from 'node:crypto'
import type { KeyRights } from '#domain/api-key.ts'
import type { Merchant } from '#domain/merchant.ts'
import { Refusal, refuseUnauthenticated } from '#http/answers/refusal.ts'
import { type AccessTokens, timeOf } from '#http/authentication/access-token.ts'
import { type AddressList, createAddressList } from '#http/authentication/address-list.ts'
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
import type { AccessWatch } from '#http/server/ports.ts'

export interface Caller {
  readonly merchant: Merchant
  /** Set when the credential is restricted to one payment intent. */
  readonly intentId: string | undefined
  /** The presented key, or the key of the presented access token; undefined for access tokens of an earlier release. */
  readonly key: KeyRights | undefined
}

export interface Question {
  readonly authorization: string | undefined
  readonly apiKey: string | undefined
  readonly access: Access
  readonly scope: Endpoint['scope']
  readonly address: string
  /** The object named in the path, for access `intent`. */
  readonly id: string | undefined
}

export interface AuthenticationPorts extends ClientCheck {
  readonly accessTokens: AccessTokens
  readonly failedLogins: FailedLogins
  readonly watch: AccessWatch
  readonly nowMs: () => number
}

export interface Authentication {
  /** Immediate when the header is cached, else a promise. */
  authenticate(question: Question): Caller | Refusal | Promise<Caller | Refusal>
}

interface Remembered extends Caller {
  readonly addresses: AddressList
  readonly untilMs: number
}

/** 10,000 headers: every merchant of a busy process with several keys and access tokens each. */
const rememberedMax = 10_000
/** 5 s: the longest that another process may still accept a key that was just revoked. */
const rememberedMs = 5_000
/** 4 KiB: four times our longest access token; longer ones are not ours. */
const headerMax = 4_096

const missing =
  'This endpoint needs credentials: Basic with merchant id and API key, or a Bearer access token.'
const malformed = 'The credentials are not in a form that this endpoint takes.'
const wrong = 'The merchant id or the API key is wrong.'
const stale = 'The access token is not valid, or not any more.'

/** The result of a look-up, before rights are checked. `client` is set when the failure counts against a client. */
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
    // Data read before a change may be outdated.
    if (!('refusal' in verified) && changes === changesBefore) remembered.set(name, verified)
    return verified
  }

  /** Requests that arrive with the same header while it is looked up share the look-up. */
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

/** The credentials are valid; checks whether they allow this request. */
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
 * The token of an intent is on a customer's device, so the key's address list does not apply: it applied to the server
 * that requested the token. The token confirms payments, so the key must have that scope; reading its own intent needs
 * no other scope.
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
  // A bare key does not name a client; all wrong ones from an address are counted together.
  return client ? remember(client, ports) : fail(wrong, 'X-API-Key')
}

/**
 * A wrong access token does not prove which client sent it, and a signature cannot be guessed, so it is not counted.
 */
async function verifyBearer(value: string, ports: AuthenticationPorts): Promise<Verified> {
  const claims = await ports.accessTokens.read(value)
  const found = claims && (await ports.credentials.find(claims.merchantId))
  if (claims === undefined || found === undefined) return fail(stale)
  const { merchant } = found
  const now = ports.nowMs()
  const merchantNow = timeOf(merchant, now)
  if (claims.expiresAtMs <= merchantNow || claims.notBeforeMs > merchantNow) return fail(stale)
  const key = found.keys.find(({ keyId }) => keyId === claims.keyId)
  // Its key was revoked, has expired or was rotated out. Tokens of an earlier release do not name a key and expire
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
