/** TLS settings, and the reload of a renewed certificate while the server runs. */
import type { Server } from 'node:https'
import type { FastifyInstance } from 'fastify'
import { textAt } from '#domain/json.ts'
import type { Timers } from '#http/server/timers.ts'
import type { Logger } from '#http/telemetry/log.ts'

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

/** Open connections keep the certificate with which they began. */
export function followCertificate(
  app: FastifyInstance,
  tls: TlsOptions,
  { timers, logger }: { readonly timers: Timers; readonly logger: Logger },
): void {
  const { readAgain } = tls
  if (readAgain === undefined) return
  // With a certificate Fastify creates a TLS server, which its type does not show.
  const server = app.server as unknown as Server
  let used: Certificate = tls
  let fault: string | undefined
  const look = (): void => {
    try {
      const { key, cert } = readAgain()
      if (key !== used.key || cert !== used.cert) {
        // Throws before it changes anything if key and certificate do not belong together.
        server.setSecureContext({ key, cert, ...tlsSettings })
        used = { key, cert }
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
    cancel = timers.after(lookAgainMs, look)
  }
  let cancel = timers.after(lookAgainMs, look)
  app.addHook('onClose', async () => cancel())
}
