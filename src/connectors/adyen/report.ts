/**
 * Fetches settlement details reports with the report user's key. A notice's signature covers the name of the report but
 * not its address, so the key is sent to Adyen's own host only.
 */
import type { AnnouncedReport, ConnectorTools, FetchedReport, ProviderAccount } from '#connectors/contract.ts'

/** 32 MiB: some 150,000 lines. A longer report is imported from a file. */
const reportBytesMax = 32 * 1024 * 1024

export async function fetchReport(
  { url, name }: AnnouncedReport,
  { account, http }: { readonly account: ProviderAccount; readonly http: ConnectorTools['http'] },
  signal: AbortSignal,
): Promise<FetchedReport> {
  const key = account.secrets.reportApiKey?.reveal()
  if (key === undefined || !/^settlement_detail_report/i.test(name)) return { kind: 'none' }
  if (!isOfAdyen(url, account)) return { kind: 'foreign' }
  const headers = { 'x-api-key': key, accept: 'text/csv' }
  const answer = await http.exchange({ verb: 'GET', url, headers, answerBytesMax: reportBytesMax }, signal)
  if (answer.kind !== 'answered') return failed(`Adyen did not hand out ${name}: ${answer.reason}`)
  if (answer.status === 401 || answer.status === 403)
    return failed(`Adyen refuses the report key for ${name} (HTTP ${answer.status})`)
  if (answer.status !== 200) return failed(`Adyen answered HTTP ${answer.status} instead of ${name}`)
  return { kind: 'fetched', file: [Buffer.from(answer.body)] }
}

const failed = (reason: string): FetchedReport => ({ kind: 'failed', reason })

function isOfAdyen(address: string, { environment, settings }: ProviderAccount): boolean {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (!url?.pathname.startsWith('/reports/download/')) return false
  const given = environment === 'test' ? settings.baseUrl : undefined
  return url.origin === (given ? new URL(given).origin : `https://ca-${environment}.adyen.com`)
}
