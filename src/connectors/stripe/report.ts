/** Fetches the itemised reports that Stripe has finished and announced. */
import type { AnnouncedReport, FetchedReport } from '#connectors/contract.ts'
import type { StripeClient } from '#connectors/stripe/client.ts'

/** Summaries have no lines of single payments. */
const itemised = /\.itemized\./

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
