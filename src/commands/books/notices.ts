/** `notices list`: notices of providers, and which of them match no operation. */
import { type Command, Option } from 'commander'
import { withProviders } from '#commands/merchants/provider.ts'
import { parseWhole } from '#commands/options.ts'
import { printRows } from '#commands/terminal.ts'
import type { Config } from '#config.ts'
import type { Providers } from '#providers/open-providers.ts'

type ListedItem = Awaited<ReturnType<Providers['listNotices']>>[number]

interface ListOptions {
  readonly unmatched?: true
  readonly merchant?: string
  readonly account?: string
  readonly limit: number
  readonly json?: true
}

/** 10,000: as many as a person can search, and a few megabytes of JSON. */
const limitMax = 10_000

export function addNoticeCommands(program: Command, readConfig: () => Config): void {
  const notices = program.command('notices').summary('list the notices that providers sent')
  notices.description('Shows the notices that providers sent. Raw notices are kept, sealed, for 90 days.')
  notices
    .command('list')
    .description('Lists the notices of providers, the newest first.')
    .option('--unmatched', 'only notices that match no payment yet; they are tried again by themselves')
    .option('--merchant <id>', 'of one merchant')
    .option('--account <id>', 'of one provider account')
    .addOption(
      new Option('--limit <n>', 'how many at most').argParser(parseWhole(1, limitMax)).default(1_000),
    )
    .addOption(new Option('--json', 'print one line of JSON'))
    .action(async ({ unmatched, merchant, account, limit, json }: ListOptions) => {
      const filter = { merchantId: merchant, accountId: account, unmatched, limit }
      const all = await withProviders(readConfig(), providers => listIn(providers, filter))
      // Each cell lists its own newest.
      const found = all.toSorted((a, b) => b.receivedAt.getTime() - a.receivedAt.getTime()).slice(0, limit)
      if (json) console.log(JSON.stringify(found.map(toJson)))
      else printItems(found)
    })
}

/** Refuses an unknown merchant or account: an empty list would mean that nothing is unmatched. */
async function listIn(
  providers: Providers,
  filter: Parameters<Providers['listNotices']>[0],
): Promise<readonly ListedItem[]> {
  await providers.requireMerchant(filter.merchantId)
  const found = await providers.listNotices(filter)
  // The notices of an account outlive it.
  if (found.length === 0 && filter.accountId !== undefined) await providers.find(filter.accountId)
  return found
}

const toJson = (item: ListedItem) => ({
  account: item.accountId,
  merchantId: item.merchantId,
  key: item.key,
  kind: item.kind,
  reference: item.reference,
  state: item.state,
  attempts: item.attempts,
  detail: item.detail,
  receivedAt: item.receivedAt.toISOString(),
  finishedAt: item.finishedAt?.toISOString() ?? null,
})

const printItems = (items: readonly ListedItem[]): void =>
  printRows([
    ['RECEIVED', 'ACCOUNT ID', 'STATE', 'KIND', 'REFERENCE', 'KEY'],
    ...items.map(({ receivedAt, accountId, state, kind, reference, key }) => [
      receivedAt.toISOString(),
      accountId,
      state,
      kind,
      reference ?? '-',
      key,
    ]),
  ])
