/** One-time codes after RFC 6238: six digits, thirty seconds, HMAC-SHA-1 as authenticator apps expect it. Pure. */
import { createHmac } from 'node:crypto'

/** 20 bytes: the length of the hash, as the standard advises. */
export const totpSecretBytes = 20

const stepSeconds = 30

export const totpStep = (nowMs: number): number => Math.floor(nowMs / 1000 / stepSeconds)

export function totpCode(secret: Uint8Array, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const digest = createHmac('sha1', secret).update(counter).digest()
  const offset = (digest[digest.length - 1] ?? 0) & 0x0f
  const number = digest.readUInt32BE(offset) & 0x7fff_ffff
  return String(number % 1_000_000).padStart(6, '0')
}

/** The step whose code this is; one step of drift either way is allowed. Undefined: a wrong code. */
export function findTotpStep(secret: Uint8Array, code: string, nowMs: number): number | undefined {
  const now = totpStep(nowMs)
  return [now, now - 1, now + 1].find(step => totpCode(secret, step) === code)
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

export function toBase32(bytes: Uint8Array): string {
  let bits = ''
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0')
  return (bits.match(/.{1,5}/g) ?? []).map(five => alphabet[Number.parseInt(five.padEnd(5, '0'), 2)]).join('')
}

/** What an authenticator app reads from the QR code. */
export const totpAddress = (secret: Uint8Array, email: string): string =>
  `otpauth://totp/Tollgate:${encodeURIComponent(email)}?secret=${toBase32(secret)}&issuer=Tollgate`
