/** The HTTP calls to Stripe: address, API key, API version, idempotency key. */
import { hash } from 'node:crypto'
import type {
  AnnouncedReport,
  FetchedReport,
  HttpAnswer,
  Kept,
  ProviderAccount,
  ProviderHttp,
} from '#connectors/contract.ts'
import { apiVersion, liveFilesOrigin, liveOrigin } from '#connectors/stripe/facts.ts'
import { type Form, toForm } from '#connectors/stripe/translate/wire.ts'

export interface StripeClient {
  /** Tells the account's key from an earlier one. Stored with each operation. */
  readonly keyMark: string
  get(path: string, query: Form, signal: AbortSignal): Promise<HttpAnswer>
  post(
    path: string,
    call: { readonly form: Form; readonly key: string },
    signal: AbortSignal,
  ): Promise<HttpAnswer>
  /** Uploads a file to Stripe's host for files. */
  upload(call: Upload, signal: AbortSignal): Promise<HttpAnswer>
  /** Undefined: the address is not Stripe's and was not called. */
  download(url: string, signal: AbortSignal): Promise<HttpAnswer> | undefined
}

export interface Upload {
  readonly name: string
  readonly type: string
  readonly content: Uint8Array
  readonly key: string
}

/** 32 MiB: some 150,000 lines. A longer report is imported from a file. */
const downloadBytesMax = 32 * 1024 * 1024

export function createClient(account: ProviderAccount, http: ProviderHttp): StripeClient {
  const base = account.settings.baseUrl?.replace(/\/+$/, '')
  const headers = (extra: Readonly<Record<string, string>>): Record<string, string> => ({
    authorization: `Bearer ${account.secrets.secretKey?.reveal() ?? ''}`,
    'stripe-version': apiVersion,
    ...extra,
  })
  return {
    // 32 bits tell keys apart and say nothing about them.
    keyMark: hash('sha256', account.secrets.secretKey?.reveal() ?? '').slice(0, 8),
    get(path, query, signal) {
      const search = toForm(query)
      const url = `${base ?? liveOrigin}${path}${search === '' ? '' : `?${search}`}`
      return http.exchange({ verb: 'GET', url, headers: headers({}) }, signal)
    },
    post(path, { form, key }, signal) {
      return http.exchange(
        {
          verb: 'POST',
          url: `${base ?? liveOrigin}${path}`,
          headers: headers({
            'content-type': 'application/x-www-form-urlencoded',
            'idempotency-key': key,
          }),
          body: toForm(form),
        },
        signal,
      )
    },
    upload(call, signal) {
      const boundary = `tollgate-${call.key}`
      return http.exchange(
        {
          verb: 'POST',
          url: `${base ?? liveFilesOrigin}/v1/files`,
          headers: headers({
            'content-type': `multipart/form-data; boundary=${boundary}`,
            'idempotency-key': call.key,
          }),
          body: toMultipart(boundary, call),
        },
        signal,
      )
    },
    download(url, signal) {
      const origin = new URL(base ?? liveFilesOrigin).origin
      if (!URL.canParse(url) || new URL(url).origin !== origin) return undefined
      const answerBytesMax = downloadBytesMax
      return http.exchange({ verb: 'GET', url, headers: headers({}), answerBytesMax }, signal)
    },
  }
}

/**
 * Whether the key was replaced since the operation was sent. The new one may be of another Stripe account, which has
 * none of the old one's payments, so that an object which it does not have may exist all the same.
 */
export const isOtherKey = (kept: Kept | undefined, { keyMark }: Pick<StripeClient, 'keyMark'>): boolean =>
  kept?.keyMark !== undefined && kept.keyMark !== keyMark

function toMultipart(boundary: string, { name, type, content }: Upload): Uint8Array {
  // The name is for display only. Characters that could end the header early are replaced.
  const safeName = name.replace(/[^\w. -]/g, '_')
  const head =
    `--${boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\ndispute_evidence\r\n` +
    `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${safeName}"\r\n` +
    `Content-Type: ${type}\r\n\r\n`
  return Buffer.concat([Buffer.from(head), content, Buffer.from(`\r\n--${boundary}--\r\n`)])
}

/**
 * The reports that have a line per payment of this account. Those of a platform's connected accounts look the same and
 * are other people's money; those of other products, such as taxes, have no balance transactions.
 */
const itemised =
  /^(balance_change_from_activity|payout_reconciliation|ending_balance_reconciliation|payouts)\.itemized\./

/** Downloads a report of this account's money that Stripe has announced as finished. */
export async function fetchReport(
  { url, name }: AnnouncedReport,
  client: StripeClient,
  signal: AbortSignal,
): Promise<FetchedReport> {
  if (!itemised.test(name)) return { kind: 'none' }
  const answer = await client.download(url, signal)
  if (answer === undefined) return { kind: 'foreign' }
  if (answer.kind !== 'answered')
    return { kind: 'failed', reason: `Stripe did not hand out ${name}: ${answer.reason}` }
  if (answer.status !== 200)
    return { kind: 'failed', reason: `Stripe answered HTTP ${answer.status} instead of ${name}` }
  return { kind: 'fetched', file: [Buffer.from(answer.body)] }
}
