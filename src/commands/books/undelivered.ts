/** `bank undelivered`: lists surplus that did not reach its payer, and records what a person does with it. */
import { type Command, Option } from 'commander'
import { accountOption, inOne, withBank } from '#commands/books/open-bank.ts'
import { jsonOption } from '#commands/options.ts'
import { print } from '#commands/terminal.ts'
import type { Config } from '#config.ts'
import { toVisible } from '#domain/text.ts'
import type { QueuedAgain, Undelivered, UndeliveredList } from '#operations/bank/undelivered.ts'

interface UndeliveredOptions {
  readonly account: string
  readonly again?: string
  readonly done?: string
  readonly json?: true
}

export function addUndeliveredCommand(bank: Command, readConfig: () => Config): void {
  bank
    .command('undelivered')
    .description(
      'Lists surplus that was sent back and did not reach its payer, because the bank returned or rejected the transfer. ' +
        'It is not sent again by itself.',
    )
    .addOption(accountOption())
    .addOption(
      new Option(
        '--again <transfer>',
        'send this one again with the next batch, to the same account',
      ).conflicts('done'),
    )
    .option('--done <transfer>', 'take this one off the list: you have paid it in another way')
    .addOption(jsonOption())
    .action(({ account: accountId, again, done, json }: UndeliveredOptions) => {
      const undelivered = { accountId, json: json === true, config: readConfig() }
      if (again !== undefined) return sendAgain(again, undelivered)
      return done === undefined ? showUndelivered(undelivered) : removeFromList(done, undelivered)
    })
}

interface UndeliveredWork {
  readonly accountId: string
  readonly json: boolean
  readonly config: Config
}

async function showUndelivered({ accountId, json, config }: UndeliveredWork): Promise<void> {
  await withBank(config, {
    work: inOne(async opened => {
      const { listUndelivered } = await import('#operations/bank/undelivered.ts')
      return listUndelivered({ account: await opened.account(accountId), bank: opened })
    }),
    show: (list: UndeliveredList) => (json ? printJson(list) : printReport(list)),
  })
}

async function printJson(list: UndeliveredList): Promise<void> {
  await print('{"undelivered":[')
  await printPages(list.pages())
  await print(']}\n')
}

async function printReport(list: UndeliveredList): Promise<void> {
  if (list.length === 0) console.log('No surplus waits for you.')
  await printLines(list)
  if (list.length > 0)
    console.log(
      '--again <transfer> sends one again to the same account, --done <transfer> takes it off this list.',
    )
}

async function printLines(list: UndeliveredList): Promise<void> {
  for await (const page of list.pages())
    await print(page.map(one => `  ${describeUndelivered(one)}\n`).join(''))
}

async function sendAgain(xId: string, { accountId, json, config }: UndeliveredWork): Promise<void> {
  const sent = await withBank(config, {
    work: inOne(async opened => {
      const { giveBackAgain } = await import('#operations/bank/undelivered.ts')
      return giveBackAgain(xId, { account: await opened.account(accountId), bank: opened })
    }),
    act: (again: QueuedAgain) => ({ act: 'bank.undelivered.again', object: xId, after: again }),
  })
  console.log(
    json ? JSON.stringify(sent) : `It goes back with the next batch, under the reference ${sent.xId}.`,
  )
}

async function removeFromList(xId: string, { accountId, json, config }: UndeliveredWork): Promise<void> {
  const closed = await withBank(config, {
    work: inOne(async opened => {
      const { closeUndelivered } = await import('#operations/bank/undelivered.ts')
      return closeUndelivered(xId, { account: await opened.account(accountId), bank: opened })
    }),
    act: (before: Undelivered) => ({ act: 'bank.undelivered.done', object: xId, before }),
  })
  console.log(json ? JSON.stringify(closed) : 'It is off the list.')
}

/** Prints new items and the command that lists them later, because an import names each surplus only once. */
export async function printUntold(list: UndeliveredList): Promise<void> {
  if (list.length === 0) return
  console.log(`surplus that did not reach its payer: ${list.length}`)
  await printLines(list)
  for (const accountId of list.accountIds)
    console.log(`  to deal with it: tollgate bank undelivered --account ${accountId}`)
}

const describeUndelivered = ({ payId, transId, xId, amount, sentOn, reason }: Undelivered): string =>
  toVisible(
    [
      ...[payId, transId, xId, `${amount.value} ${amount.currency}`, `sent ${sentOn}`],
      reason ?? 'no reason given',
    ].join('  '),
  )

/** The items of a JSON list whose brackets the caller prints. */
export async function printPages(pages: AsyncGenerator<readonly object[]>): Promise<void> {
  let separator = ''
  for await (const page of pages) {
    await print(separator + JSON.stringify(page).slice(1, -1))
    separator = ','
  }
}
