/**
 * TLS settings, the reload of a renewed certificate while the server runs, and the warnings about one that is about to
 * expire.
 */
import type { Server } from 'node:https'
import type { FastifyInstance } from 'fastify'
import { textAt } from '#domain/json.ts'
import { type CertificateEnd, readCertificateEnd } from '#domain/time/certificate-end.ts'
import type { Timers } from '#http/server/timers.ts'
import type { Logger } from '#http/telemetry/log.ts'
import type { Metrics } from '#http/telemetry/metrics.ts'

export interface Certificate {
  readonly key: string
  readonly cert: string
}

export interface TlsOptions extends Certificate {
  /** Reads the certificate from the disk, once a minute. Absent: the first one stays in use. */
  readonly readAgain?: () => Certificate
}

/** TLS 1.3, and only those suites of TLS 1.2 that have forward secrecy and authenticated encryption (no CBC). */
export const tlsSettings = {
  minVersion: 'TLSv1.2',
  honorCipherOrder: true,
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
    'ECDHE-RSA-CHACHA20-POLY1305',
  ].join(':'),
} as const

/** 1 min: certificates are renewed days before they expire. */
const lookAgainMs = 60_000

interface FollowDeps {
  readonly timers: Timers
  readonly logger: Logger
  /** Real time: a test clock does not affect certificates. */
  readonly nowMs: () => number
  readonly metrics: Pick<Metrics, 'setCertificateEnd'>
}

/** Daily before the end, hourly once clients refuse the certificate. */
const sayAgainMs = { near: 24 * 60 * 60 * 1000, ended: 60 * 60 * 1000 }

/** Logs that the certificate in use is about to expire, or has expired. */
function createEndWatch({ logger, nowMs, metrics }: FollowDeps) {
  let end: CertificateEnd | undefined
  let said = { what: 'fine', atMs: 0 }
  return {
    use(cert: string): void {
      end = readCertificateEnd(cert)
      metrics.setCertificateEnd(end.endMs / 1000)
    },
    look(): void {
      if (!end || nowMs() < end.nearEndMs) return
      const what = nowMs() < end.endMs ? 'near' : 'ended'
      if (said.what === what && nowMs() < said.atMs + sayAgainMs[what]) return
      said = { what, atMs: nowMs() }
      const line = { component: 'certificate', endsAt: new Date(end.endMs).toISOString() }
      if (what === 'near')
        logger.warn(line, 'the certificate ends soon and is not renewed yet: renew TOLLGATE_TLS_CERT')
      else
        logger.error(
          { ...line, code: 'CERTIFICATE_ENDED' },
          'the certificate has ended, clients refuse it: renew TOLLGATE_TLS_CERT',
        )
    },
    endsAt: () => end && new Date(end.endMs).toISOString(),
  }
}

export interface FollowedCertificate {
  /** When the certificate in use expires. */
  readonly endsAt: () => string | undefined
}

/** Open connections keep the certificate with which they began. */
export function followCertificate(
  app: FastifyInstance,
  tls: TlsOptions,
  deps: FollowDeps,
): FollowedCertificate {
  const { timers } = deps
  const watch = createEndWatch(deps)
  const renew = tls.readAgain && createRenewal(app, { tls, readAgain: tls.readAgain, watch }, deps)
  const look = (): void => {
    renew?.()
    watch.look()
    cancel = timers.after(lookAgainMs, look)
  }
  watch.use(tls.cert)
  watch.look()
  let cancel = timers.after(lookAgainMs, look)
  app.addHook('onClose', async () => cancel())
  return watch
}

interface Renewal {
  readonly tls: Certificate
  readonly readAgain: () => Certificate
  readonly watch: ReturnType<typeof createEndWatch>
}

function createRenewal(
  app: FastifyInstance,
  { tls, readAgain, watch }: Renewal,
  { logger }: FollowDeps,
): () => void {
  // With a certificate Fastify creates a TLS server, which its type does not show.
  const server = app.server as unknown as Server
  let used: Certificate = tls
  let fault: string | undefined
  return () => {
    try {
      const { key, cert } = readAgain()
      if (key !== used.key || cert !== used.cert) {
        // Throws before it changes anything if key and certificate do not belong together.
        server.setSecureContext({ key, cert, ...tlsSettings })
        used = { key, cert }
        watch.use(cert)
        logger.info({ component: 'certificate' }, 'the renewed certificate is in use')
      }
      fault = undefined
    } catch (error) {
      const reason = textAt(error, 'message')
      // Logged only the second time, because the two files may just be being written.
      if (fault !== undefined)
        logger.error(
          { code: 'CERTIFICATE_NOT_RENEWED', reason },
          'the certificate on the disk cannot be used; the one before stays in use',
        )
      fault = reason
    }
  }
}
