/**
 * Access tokens: JWTs (RFC 9068) that this environment signs for itself. The algorithm is fixed; a token's header
 * cannot choose another one. Lifetimes run on the merchant's clock, so the caller checks the expiry after the
 * signature.
 */

import { type KeyObject, randomUUID } from 'node:crypto'
import { compactVerify, SignJWT } from 'jose'
import type { LiveKey } from '#domain/api-key.ts'
import { isRecord, type JsonObject } from '#domain/json.ts'
import type { Merchant } from '#domain/merchant.ts'

export interface TokenSettings {
  /** 32 bytes or more. A function, because the key may be rotated. */
  readonly key: () => KeyObject
  readonly issuer: string
  /** The environment: a token of one environment is invalid in the other. */
  readonly audience: string
  readonly nowMs: () => number
}

export interface TokenClaims {
  readonly merchantId: string
  /** Set when the token is restricted to one payment intent. */
  readonly intentId: string | undefined
  /** The API key that requested the token; undefined in tokens of an earlier release. */
  readonly keyId: string | undefined
  readonly expiresAtMs: number
  readonly notBeforeMs: number
}

export interface AccessTokens {
  issue(
    merchant: Merchant,
    intentId?: string,
    key?: Pick<LiveKey, 'keyId' | 'expiresAtMs'>,
  ): Promise<{ accessToken: string; expiresInSeconds: number }>
  /** The claims of a token that this environment signed, otherwise undefined. Does not check the expiry. */
  read(accessToken: string): Promise<TokenClaims | undefined>
}

const algorithm = 'HS256'
const tokenType = 'at+jwt'
/** One hour for a merchant's own server, by the API contract. */
const merchantLifetimeSeconds = 3600
/** 15 minutes by the API contract, because this token is sent to a customer's device. */
const intentLifetimeSeconds = 900

export const timeOf = (merchant: Merchant, nowMs: number): number => nowMs + merchant.clockOffsetMs

export function createAccessTokens({ key, issuer, audience, nowMs }: TokenSettings): AccessTokens {
  return {
    async issue(merchant, intentId, apiKey) {
      const issuedAt = Math.floor(timeOf(merchant, nowMs()) / 1000)
      // The token ends with its key, which ends by real time.
      const keyLeftSeconds = Math.ceil(((apiKey?.expiresAtMs ?? Number.POSITIVE_INFINITY) - nowMs()) / 1000)
      const longest = intentId === undefined ? merchantLifetimeSeconds : intentLifetimeSeconds
      const expiresInSeconds = Math.max(1, Math.min(longest, keyLeftSeconds))
      const accessToken = await new SignJWT({
        ...(intentId === undefined ? {} : { payment_intent_id: intentId }),
        ...(apiKey === undefined ? {} : { key_id: apiKey.keyId }),
      })
        .setProtectedHeader({ alg: algorithm, typ: tokenType })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(merchant.merchantId)
        .setIssuedAt(issuedAt)
        .setNotBefore(issuedAt)
        .setExpirationTime(issuedAt + expiresInSeconds)
        .setJti(randomUUID())
        .sign(key())
      return { accessToken, expiresInSeconds }
    },

    async read(accessToken) {
      const payload = await verifySignature(accessToken, key())
      if (payload === undefined || payload.iss !== issuer || payload.aud !== audience) return undefined
      const { sub, iat, exp, nbf, payment_intent_id: intentId, key_id: keyId } = payload
      if (typeof sub !== 'string' || !Number.isSafeInteger(exp) || !Number.isSafeInteger(nbf))
        return undefined
      if (intentId !== undefined && typeof intentId !== 'string') return undefined
      if (keyId !== undefined && typeof keyId !== 'string') return undefined
      // We never sign a longer lifetime, so such a token was forged with a stolen key.
      const lifetime = Number(exp) - Number(iat)
      const longest = intentId === undefined ? merchantLifetimeSeconds : intentLifetimeSeconds
      if (!Number.isSafeInteger(iat) || lifetime <= 0 || lifetime > longest) return undefined
      return {
        merchantId: sub,
        intentId,
        keyId,
        expiresAtMs: Number(exp) * 1000,
        notBeforeMs: Number(nbf) * 1000,
      }
    },
  }
}

async function verifySignature(accessToken: string, key: KeyObject): Promise<JsonObject | undefined> {
  try {
    const { payload, protectedHeader } = await compactVerify(accessToken, key, { algorithms: [algorithm] })
    if (protectedHeader.typ !== tokenType) return undefined
    const claims: unknown = JSON.parse(Buffer.from(payload).toString('utf8'))
    return isRecord(claims) ? claims : undefined
  } catch {
    // Every invalid token gets the same 401, which must not reveal more.
    return undefined
  }
}
