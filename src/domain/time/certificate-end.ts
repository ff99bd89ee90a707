/** When a TLS certificate ends, and from when on it should have been renewed: for the server's log and for `doctor`. */
import { X509Certificate } from 'node:crypto'

const dayMs = 24 * 60 * 60 * 1000

/** 14 days: renewed ones replace their predecessors earlier, after two thirds of 90 days for example. */
const nearEndMs = 14 * dayMs

/** A fifth of its time: some certificates live for days only. */
const nearEndShare = 0.2

export interface CertificateEnd {
  /** Clients refuse it after that. */
  readonly endMs: number
  /** From then on it should have been renewed. */
  readonly nearEndMs: number
}

/** Of the first certificate of the chain. */
export function readCertificateEnd(cert: string): CertificateEnd {
  const { validFrom, validTo } = new X509Certificate(cert)
  const endMs = Date.parse(validTo)
  const lifetimeMs = endMs - Date.parse(validFrom)
  return { endMs, nearEndMs: endMs - Math.min(nearEndMs, lifetimeMs * nearEndShare) }
}

/** For people who are to renew the certificate in this file; undefined while there is time. */
export function warnOfEnd(cert: string, file: string, nowMs: number): string | undefined {
  const { endMs, nearEndMs: near } = readCertificateEnd(cert)
  if (nowMs < near) return undefined
  return `the certificate in ${file} ${nowMs < endMs ? 'ends' : 'ended'} ${new Date(endMs).toISOString()}: renew it`
}
