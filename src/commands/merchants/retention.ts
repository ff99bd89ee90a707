/** `retention`: how long a merchant's personal data is kept. */
import { type Command, InvalidArgumentError } from 'commander'
import { noSuchMerchant } from '#commands/merchants/merchant.ts'
import { withMerchants } from '#commands/open-database.ts'
import { jsonOption } from '#commands/options.ts'
import { printJson } from '#commands/terminal.ts'
import type { Config } from '#config.ts'
import { addDuration } from '#domain/time/duration.ts'
import type { MerchantAdministration } from '#operations/merchants/merchants.ts'

/** 1 day: anything shorter would erase data that a payment under way still needs. */
const shortestMs = 86_400_000
const forEver = 'none'

export function addRetentionCommands(program: Command, readConfig: () => Config): void {
  const retention = program.command('retention').summary("set how long merchants' personal data is kept")
  retention.description('How long personal data of payments is kept.')
  retention
    .command('set')
    .argument('<merchant>', 'merchant id')
    .description(
      'Personal data of payments that are older is blanked by the running server: names, e-mail, telephone, addresses, IP ' +
        'and device, also in their events and stored answers. Amounts, ids, dates, country and masked numbers stay.',
    )
    .requiredOption(
      '--personal-data <duration>',
      'ISO 8601, a day at least: P2Y is two years; none: for ever',
      parseRetention,
    )
    .addOption(jsonOption())
    .action(async (merchantId: string, { personalData, json }: { personalData: string; json?: true }) => {
      const personalDataFor = personalData === forEver ? null : personalData
      const note = { command: 'retention set', object: merchantId }
      const set = (merchants: MerchantAdministration) => merchants.set(merchantId, { personalDataFor })
      const found = await withMerchants(readConfig(), set, { note })
      if (!found) throw noSuchMerchant(merchantId)
      if (json) return printJson({ merchantId, personalData: personalDataFor })
      console.log(
        `${merchantId}: personal data is kept ${personalDataFor ? `for ${personalDataFor}` : 'for ever'}.`,
      )
    })
}

function parseRetention(text: string): string {
  const length = addDuration(0, text)
  if (text === forEver || (length !== undefined && length >= shortestMs)) return text.replace(',', '.')
  throw new InvalidArgumentError('It must be an ISO 8601 duration of a day at least, such as P2Y, or none.')
}
