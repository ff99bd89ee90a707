/** `operator`: the people of the console, and the links with which they set up how to sign in. */
import type { Command } from 'commander'
import { openMerchants } from '#cells/open-merchants.ts'
import { auditCommand, type Noted, withNote } from '#commands/audit-trail.ts'
import { CommandFault, UsageFault } from '#commands/faults.ts'
import { noSuchMerchant } from '#commands/merchants/merchant.ts'
import { type OpenOptions, openDatabase } from '#commands/open-database.ts'
import { findConsoleOrigin } from '#commands/serve/served.ts'
import type { Config } from '#config.ts'
import type { People } from '#console/people.ts'
import { withPeople } from '#console/people.ts'
import { isOperatorEmail, isRefundLimit, type Role, roles } from '#domain/console-roles.ts'
import { toVisible } from '#domain/text.ts'
import type { Act } from '#operations/audit/audit.ts'
import type { Operator, OperatorChange, PeopleStore } from '#storage/console/people.ts'

interface Words {
  readonly email: string
  readonly role?: string
  readonly merchants?: string
  readonly refundLimit?: string
  readonly json?: true
}

export function addOperatorCommands(program: Command, readConfig: () => Config): void {
  const operator = program.command('operator').summary('add, list and change the people who use the console')
  operator.description('Adds, lists and changes the people who use the console.')
  describeAdd(operator, readConfig)
  describeLink(operator, readConfig)
  describeList(operator, readConfig)
  describeSet(operator, readConfig)
  describeRemove(operator, readConfig)
}

function describeAdd(operator: Command, readConfig: () => Config): void {
  operator
    .command('add')
    .description(
      'Adds a person and prints the link with which they set up how to sign in. It works once, for 24 hours.',
    )
    .requiredOption('--email <email>', 'their e-mail address')
    .requiredOption('--role <role>', roles.toReversed().join(', '))
    .option('--merchants <ids>', 'ids of the merchants they may see, separated by commas; all unless given')
    .option('--json', 'print one line of JSON')
    .action(async ({ email, role, merchants, json }: Words) => {
      const person = { email: checkEmail(email), role: checkRole(role), merchants: readList(merchants) }
      const config = readConfig()
      const add = async (people: People, _: PeopleStore, { audit, requireMerchants }: Tools) => {
        await requireMerchants(person.merchants)
        const made = await people.add(person)
        if (made) await audit('operator.add', email, { after: { role, merchants: person.merchants } })
        return made
      }
      const note = { command: 'operator add', object: email }
      const path = await withStore(config, add, { begins: true, note })
      if (path === undefined)
        throw new CommandFault(`${email} is an operator already; "tollgate operator link" makes a new link`)
      printLink(config, { email, role: person.role, path }, json)
    })
}

function describeLink(operator: Command, readConfig: () => Config): void {
  operator
    .command('link')
    .description(
      'Prints a new link for a person who has lost the old one, or every way to sign in. Works for the last owner too.',
    )
    .requiredOption('--email <email>', 'their e-mail address')
    .option('--json', 'print one line of JSON')
    .action(async ({ email, json }: Words) => {
      const config = readConfig()
      const made = await withStore(config, async (people, store, { audit }) => {
        const person = await findPerson(store, email)
        await audit('operator.link', person.email)
        return { path: await people.makeLink(person.operatorId), role: person.role }
      })
      printLink(config, { email, ...made }, json)
    })
}

function describeList(operator: Command, readConfig: () => Config): void {
  operator
    .command('list')
    .description('Lists the people of the console.')
    .option('--json', 'print an array of JSON')
    .action(async ({ json }: Words) => {
      const people = (await withStore(readConfig(), (_, store) => store.list())).map(toShown)
      if (json) console.log(JSON.stringify(people))
      else
        for (const { email, role, merchants } of people)
          console.log([email, role, merchants ?? 'all merchants'].join('\t'))
    })
}

function describeSet(operator: Command, readConfig: () => Config): void {
  operator
    .command('set')
    .description("Changes a person's role, merchants or refund limit.")
    .requiredOption('--email <email>', 'their e-mail address')
    .option('--role <role>', roles.toReversed().join(', '))
    .option('--merchants <ids>', 'ids of the merchants they may see, separated by commas, or all')
    .option(
      '--refund-limit <limits>',
      'the most that a person with the role support may refund at once, such as 20000EUR; none for no limit',
    )
    .option('--json', 'print one line of JSON')
    .action(async ({ email, json, ...words }: Words) => {
      const change = toChange(words)
      if (Object.keys(change).length === 0)
        throw new UsageFault('nothing to set; give --role, --merchants or --refund-limit')
      const set = async (_: People, store: PeopleStore, { audit, requireMerchants }: Tools) => {
        const known = await findPerson(store, email)
        await requireMerchants(change.merchants)
        const changed = await store.set(known.operatorId, change)
        if (!changed) throw noSuchPerson(email)
        if (changed.endedLinks > 0)
          console.error(
            'The link that was not used yet has ended, because it was made for fewer merchants: "tollgate operator link" makes a new one.',
          )
        const before = Object.entries(changed.before).filter(([right]) => Object.hasOwn(change, right))
        await audit('operator.set', known.email, { before: Object.fromEntries(before), after: change })
        return findPerson(store, email)
      }
      const note = { command: 'operator set', object: email }
      const person = await withStore(readConfig(), set, { note })
      console.log(json ? JSON.stringify(toShown(person)) : `${person.email}: ${person.role}`)
    })
}

function describeRemove(operator: Command, readConfig: () => Config): void {
  operator
    .command('remove')
    .description('Removes a person and ends their sessions.')
    .requiredOption('--email <email>', 'their e-mail address')
    .option('--json', 'print one line of JSON')
    .action(async ({ email, json }: Words) => {
      const remove = async (_: People, store: PeopleStore, { audit }: Tools) => {
        const person = await findPerson(store, email)
        const before = await store.remove(person.operatorId)
        if (!before) throw noSuchPerson(email)
        await audit('operator.remove', person.email, { before })
      }
      await withStore(readConfig(), remove, { note: { command: 'operator remove', object: email } })
      console.log(json ? JSON.stringify({ email, removed: true }) : `${email} is removed`)
    })
}

function toChange({ role, merchants, refundLimit }: Omit<Words, 'email' | 'json'>): OperatorChange {
  const limits = readList(refundLimit)
  const wrong = refundLimit === 'none' ? undefined : limits?.find(limit => !isRefundLimit(limit))
  if (wrong !== undefined)
    throw new UsageFault(
      `--refund-limit is ${wrong}, but must be smallest units and a currency, such as 20000EUR`,
    )
  return {
    ...(role === undefined ? {} : { role: checkRole(role) }),
    ...(merchants === undefined ? {} : { merchants: merchants === 'all' ? null : readList(merchants) }),
    ...(refundLimit === undefined ? {} : { refundLimits: refundLimit === 'none' ? null : limits }),
  }
}

interface Tools {
  readonly audit: (act: string, object: string, change?: Pick<Act, 'before' | 'after'>) => Promise<void>
  /** Fails with the first id that no merchant has. */
  readonly requireMerchants: (ids: readonly string[] | null | undefined) => Promise<void>
}

async function withStore<T>(
  config: Config,
  work: (people: People, store: PeopleStore, tools: Tools) => Promise<T>,
  { note, ...how }: Pick<OpenOptions, 'begins'> & { readonly note?: Noted } = {},
): Promise<T> {
  for (const warning of config.warnings) console.error(`warning: ${warning}`)
  const onProgress = (line: string): void => console.error(line)
  const database = await openDatabase(config, { purpose: 'command', onProgress, ...how })
  try {
    const { url: databaseUrl, masterKey, cells } = database
    const tools: Tools = {
      audit: (act, object, change) => auditCommand(databaseUrl, { act, object, ...change }),
      async requireMerchants(ids) {
        if (!ids) return
        if (ids.length === 0) throw new UsageFault('--merchants names no merchant')
        const { environment } = config
        const { merchants, close } = await openMerchants({ environment, cells, masterKey })
        try {
          for (const id of ids) if ((await merchants.list(id)).length === 0) throw noSuchMerchant(id)
        } finally {
          await close()
        }
      },
    }
    return await withPeople({ databaseUrl, masterKey }, (people, store) =>
      withNote(databaseUrl, note, () => work(people, store, tools)),
    )
  } finally {
    await database.close()
  }
}

const noSuchPerson = (email: string): CommandFault =>
  new CommandFault(`${email} is not an operator; "tollgate operator list" shows all`)

async function findPerson(store: PeopleStore, email: string): Promise<Operator> {
  const person = await store.findByEmail(email)
  if (!person) throw noSuchPerson(email)
  return person
}

const toShown = ({
  operatorId,
  email,
  role,
  merchants,
  refundLimits,
  passkeys,
  passwordHash,
  createdAt,
}: Operator) => ({
  operatorId,
  email,
  role,
  ...(merchants ? { merchants } : {}),
  ...(refundLimits ? { refundLimits } : {}),
  signsInWith: [...(passwordHash ? ['password'] : []), ...(passkeys > 0 ? ['passkey'] : [])],
  createdAt,
})

function checkEmail(email: string): string {
  if (isOperatorEmail(email)) return email
  throw new UsageFault(`--email is ${toVisible(email)}, but must be an e-mail address`)
}

function checkRole(role: string | undefined): Role {
  const found = roles.find(known => known === role)
  if (found) return found
  throw new UsageFault(`--role is ${role}, but must be one of ${roles.toReversed().join(', ')}`)
}

const readList = (text: string | undefined): readonly string[] | undefined =>
  text
    ?.split(',')
    .map(word => word.trim())
    .filter(word => word !== '')

function printLink(
  config: Config,
  { email, role, path }: { readonly email: string; readonly role: string; readonly path: string },
  json: true | undefined,
): void {
  const origin = findConsoleOrigin(config)
  if (origin === undefined)
    console.error(
      'PORT is 0 and no gateway of this data folder runs: put the port that the next start prints in place of PORT.',
    )
  const link = `${origin ?? 'http://localhost:PORT'}${path}`
  console.log(json ? JSON.stringify({ email, role, link }) : link)
  if (!json) console.error('Send this link to the person; it works once, for 24 hours.')
}
