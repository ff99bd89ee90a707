/**
 * Imports settlement files: the connector parses its provider's format, and the file is stored as a whole or not at
 * all. Lines are matched with payments by the provider's references, now or when the outcome of the payment arrives.
 * Importing a file twice has one effect.
 */
import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import type { SettlementLine } from '#connectors/contract.ts'
import { isDate } from '#domain/time/dates.ts'
import type { NoticeDeps } from '#operations/payments/notices/apply-notice.ts'
import { NotNow } from '#providers/apply-notices.ts'
import type { AccountDirectory } from '#providers/directory.ts'
import { AccountFault, UnknownHere } from '#providers/settings.ts'
import { ImportUnderWay } from '#storage/providers/insert-lines.ts'
import type { SettlementStore } from '#storage/providers/settlements.ts'

export interface ImportDeps {
  readonly directory: Pick<AccountDirectory, 'find'>
  readonly store: Pick<SettlementStore, 'insert'>
}

export interface Imported {
  readonly accountId: string
  /** Lines in the file. */
  readonly lines: number
  /** New lines. */
  readonly added: number
  readonly repeated: number
  /** Lines about an operation that match none of ours. */
  readonly unmatched: number
}

/** 1,000,000 lines of some 200 bytes each: one year of a busy merchant in one file. */
const linesMax = 1_000_000

export async function importSettlement(
  { accountId, file }: { readonly accountId: string; readonly file: string },
  deps: ImportDeps,
): Promise<Imported> {
  const account = await deps.directory.find(accountId)
  if (!account)
    throw new UnknownHere(`there is no account "${accountId}"; "tollgate provider list" shows all`)
  return storeLines(account, { name: file, bytes: createReadStream(file) }, deps)
}

/** One account takes one file at a time. */
class ImportFault extends AccountFault {
  constructor(accountId: string, file: string) {
    super(
      `another file is being imported for ${accountId}; ${file} was not: import it again when that one has finished`,
    )
  }
}

type KnownAccount = NonNullable<Awaited<ReturnType<AccountDirectory['find']>>>

interface SettlementFile {
  readonly name: string
  readonly bytes: AsyncIterable<Uint8Array>
}

async function storeLines(
  { record: { merchantId, accountId }, connector, connectorName }: KnownAccount,
  file: SettlementFile,
  deps: ImportDeps,
): Promise<Imported> {
  const { readSettlement } = connector
  if (!readSettlement) throw new AccountFault(`the connector ${connectorName} cannot read settlement files`)
  const kept: SettlementLine[] = []
  const name = createNames()
  let lines = 0
  for await (const line of readLines(file, readSettlement.bind(connector))) {
    if (lines >= linesMax) throw new AccountFault(`${file.name} has more than ${linesMax} lines`)
    lines += 1
    checkLine(line, lines)
    kept.push(...name(line))
  }
  const { added, unmatched } = await deps.store
    .insert({ merchantId, accountId }, kept)
    .catch((error: unknown) => {
      throw error instanceof ImportUnderWay ? new ImportFault(accountId, file.name) : error
    })
  return { accountId, lines, added, repeated: lines - added, unmatched }
}

/**
 * Fetches a report that a notice has announced, and stores it like a file. A report that cannot be fetched now is
 * retried with the notice; without an API key for reports it must be imported manually.
 */
export const createApplyReport =
  (deps: ImportDeps): NonNullable<NoticeDeps['applyReport']> =>
  async ({ accountId }, report) => {
    const account = await deps.directory.find(accountId)
    const { connector } = account ?? {}
    if (!account || !connector?.fetchReport) return 'ignored'
    const waitMs = (): number => account.waitMs?.() ?? 0
    if (waitMs() > 0) throw new NotNow('the provider wants to be asked later', waitMs())
    const fetched = await connector.fetchReport(report, AbortSignal.timeout(connector.facts.timeoutMs))
    switch (fetched.kind) {
      case 'none':
        return 'ignored'
      case 'foreign':
        return 'unmatched'
      case 'failed':
        throw new NotNow(fetched.reason, waitMs())
      case 'fetched': {
        const bytes = Readable.from(fetched.file)
        const { added } = await storeLines(account, { name: report.name, bytes }, deps).catch(laterIfBusy)
        return added > 0 ? 'applied' : 'repeated'
      }
    }
  }

/** The report waits with its notice until the other import has finished. */
function laterIfBusy(error: unknown): never {
  throw error instanceof ImportFault ? new NotNow(error.message, 0) : error
}

/**
 * A provider may use one reference for several lines of a settlement, such as a chargeback and its reversal. The second
 * line gets the same distinct name in every import, so that none is lost or stored twice. A line whose reference is
 * unique is dropped if it is in the file again, as in overlapping pages.
 */
function createNames(): (line: SettlementLine) => readonly SettlementLine[] {
  const seen = new Map<string, number>()
  return line => {
    const { settlementId, type, providerReference, isNamedOnce } = line
    const key = JSON.stringify([...(isNamedOnce ? [] : [settlementId, type]), providerReference])
    const nth = (seen.get(key) ?? 0) + 1
    seen.set(key, nth)
    if (nth === 1) return [line]
    return isNamedOnce ? [] : [{ ...line, providerReference: `${providerReference}#${nth}` }]
  }
}

async function* readLines(
  { name, bytes }: SettlementFile,
  read: (bytes: AsyncIterable<Uint8Array>) => AsyncIterable<SettlementLine>,
): AsyncIterable<SettlementLine> {
  try {
    yield* read(bytes)
  } catch (error) {
    if (error instanceof AccountFault) throw error
    const reason = error instanceof Error ? error.message : String(error)
    throw new AccountFault(`${name} cannot be read as a settlement file: ${reason}`, { cause: error })
  }
}

function checkLine(line: SettlementLine, number: number): void {
  const { gross, fee, net, date, currency, paid = { value: gross, currency } } = line
  const whole = [gross, fee, net, paid.value].every(Number.isSafeInteger)
  const named = [currency, paid.currency].every(code => /^[A-Z]{3}$/.test(code))
  if (!whole || !isDate(date) || !named)
    throw new AccountFault(`line ${number} of the file has an amount, a date or a currency that is not valid`)
}
