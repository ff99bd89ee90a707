/** `route`: which of a merchant's provider accounts takes which payments. */
import { type Command, Option } from 'commander'
import { UsageFault } from '#commands/faults.ts'
import { withProviders } from '#commands/merchants/provider.ts'
import { parseList } from '#commands/merchants/provider-options.ts'
import { jsonOption, parseWhole } from '#commands/options.ts'
import { printJson, printRows } from '#commands/terminal.ts'
import type { Config } from '#config.ts'
import { isActiveCurrency } from '#domain/money/currencies.ts'
import { maximumAmount } from '#domain/money/money.ts'
import { findMethod } from '#methods/catalogue.ts'
import type { ProviderAdministration } from '#providers/administration.ts'
import { findBrandName, findCountryCode } from '#providers/administration.ts'

type ListedRule = Awaited<ReturnType<ProviderAdministration['listRules']>>[number]

/** 1,000,000: more steps than anybody needs. */
const priorityMax = 1_000_000
/** 100: leaves room for rules before and after those without a priority. */
const usualPriority = 100

interface AddOptions {
  readonly account: string
  readonly types?: readonly string[]
  readonly brands?: readonly string[]
  readonly currencies?: readonly string[]
  readonly countries?: readonly string[]
  readonly amountFrom?: number
  readonly amountTo?: number
  readonly priority: number
  readonly json?: true
}

export function addRouteCommands(program: Command, readConfig: () => Config): void {
  const route = program.command('route').summary('choose which provider account takes which payments')
  route.description(
    'Rules that choose the provider account of a payment: the first match decides, the lowest priority number first. ' +
      'Payments that no rule matches go to the first enabled account that serves the method.',
  )
  addAddCommand(route, readConfig)
  route
    .command('list')
    .argument('[merchant]', 'merchant id; all merchants unless given')
    .description('Lists rules in the order in which they are tried.')
    .addOption(jsonOption())
    .action(async (merchantId: string | undefined, { json }: { json?: true }) => {
      const rules = await withProviders(readConfig(), async providers => {
        await providers.requireMerchant(merchantId)
        return providers.listRules(merchantId)
      })
      if (json) printJson(rules.map(toJson))
      else printRules(rules)
    })
  route
    .command('remove')
    .argument('<rule>', 'rule id')
    .description('Removes a rule. Payments that were routed by it stay with their account.')
    .addOption(jsonOption())
    .action(async (ruleId: string, { json }: { json?: true }) => {
      const note = { command: 'route remove', object: ruleId }
      await withProviders(readConfig(), providers => providers.removeRule(ruleId), note)
      if (json) printJson({ ruleId, removed: true })
      else console.log(`removed: ${ruleId}`)
    })
}

function addAddCommand(route: Command, readConfig: () => Config): void {
  const currency = (word: string) => (isActiveCurrency(word.toUpperCase()) ? word.toUpperCase() : undefined)
  const type = (word: string) => findMethod(word)?.type ?? findMethod(word.toUpperCase())?.type
  route
    .command('add')
    .argument('<merchant>', 'merchant id')
    .description('Adds a rule. A condition that is left out matches every payment.')
    .requiredOption('--account <id>', 'the account that takes the matching payments')
    .option('--types <list>', 'payment method types, separated by commas', parseList('payment method', type))
    .option('--brands <list>', 'card brands, separated by commas', parseList('card brand', findBrandName))
    .option('--currencies <list>', 'currencies, separated by commas', parseList('currency', currency))
    .option(
      '--countries <list>',
      'countries of the customer, separated by commas',
      parseList('country', findCountryCode),
    )
    .option('--amount-from <n>', 'the lowest amount, in the smallest unit', parseWhole(0, maximumAmount))
    .option('--amount-to <n>', 'the highest amount, in the smallest unit', parseWhole(0, maximumAmount))
    .addOption(
      new Option('--priority <n>', 'the lowest number is tried first')
        .argParser(parseWhole(0, priorityMax))
        .default(usualPriority),
    )
    .addOption(jsonOption())
    .action(async (merchantId: string, { json, account: accountId, ...rest }: AddOptions) => {
      if (rest.amountFrom !== undefined && rest.amountTo !== undefined && rest.amountFrom > rest.amountTo)
        throw new UsageFault('--amount-from must not be above --amount-to')
      const added = await withProviders(
        readConfig(),
        providers => providers.addRule(merchantId, { accountId, ...rest }),
        { command: 'route add', object: merchantId },
      )
      if (json) printJson(toJson(added))
      else printRules([added])
    })
}

const toJson = (rule: ListedRule) => ({
  ruleId: rule.ruleId,
  merchantId: rule.merchantId,
  accountId: rule.accountId,
  types: rule.types ?? null,
  brands: rule.brands ?? null,
  currencies: rule.currencies ?? null,
  countries: rule.countries ?? null,
  amountFrom: rule.amountFrom ?? null,
  amountTo: rule.amountTo ?? null,
  priority: rule.priority,
  createdAt: rule.createdAt.toISOString(),
})

const printRules = (rules: readonly ListedRule[]): void =>
  printRows([
    ['RULE ID', 'MERCHANT ID', 'PRIORITY', 'ACCOUNT ID', 'MATCHES'],
    ...rules.map(rule => [
      rule.ruleId,
      rule.merchantId,
      String(rule.priority),
      rule.accountId,
      describe(rule),
    ]),
  ])

function describe({ types, brands, currencies, countries, amountFrom, amountTo }: ListedRule): string {
  const lists = Object.entries({ types, brands, currencies, countries }).flatMap(([name, list]) =>
    list ? [`${name} ${list.join(',')}`] : [],
  )
  const amounts = [
    amountFrom === undefined ? [] : [`from ${amountFrom}`],
    amountTo === undefined ? [] : [`to ${amountTo}`],
  ].flat()
  return [...lists, ...amounts].join('; ') || 'every payment'
}
