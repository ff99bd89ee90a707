/** Changes of one provider account or merchant by several people at the same moment, by commands and in the console. */
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { AnyJson } from '#test/support/any-json.ts'
import { type Person, signUp } from '#test/support/browser/console.ts'
import { mainOf, readForms } from '#test/support/browser/console-forms.ts'
import { type CommandsHere, commandsHere } from '#test/support/command-here.ts'
import { expectWaiting } from '#test/support/database/database.ts'
import { masterKeyOf, startTestGateway, type TestAnswer, type TestGateway } from '#test/support/gateway.ts'
import { openShop } from '#test/support/shop.ts'
import { queryRows } from '#test/support/simulation/invariants.ts'

/** A limit for what never comes, on a busy machine too. */
const patience = { timeout: 30_000, interval: 50 }

let gateway: TestGateway
let commands: CommandsHere
let owner: Person
beforeAll(async () => {
  gateway = await startTestGateway()
  commands = commandsHere(gateway.databaseUrl, { TOLLGATE_MASTER_KEY: masterKeyOf(gateway.databaseUrl) })
  owner = await signUp(gateway, { role: 'owner' })
})
afterAll(async () => {
  commands.remove()
  await gateway.stop()
})

const at = (path: string) => `/console/m/${gateway.merchantId}/providers${path}`

async function addAccount(name: string, ...more: string[]): Promise<string> {
  const words = ['--connector', 'simulator', '--name', name, ...more]
  return (await commands.json('provider', 'add', gateway.merchantId, ...words)).accountId
}

/** Holds up who changes the same rows until it is called. */
async function begin(statement: string, ...values: string[]): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: gateway.databaseUrl })
  await client.connect()
  await client.query('BEGIN')
  await client.query(statement, values)
  return async () => {
    await client.query('COMMIT')
    await client.end()
  }
}

const listChanges = async (object: string, prefix: string): Promise<AnyJson[]> => {
  const rows: AnyJson[] = await commands.json('audit', 'list', '--limit', '20')
  return rows.filter(row => row.object === object && row.act.startsWith(prefix))
}

test('changes of one account at the same moment all count, and the trail names what each has changed', async () => {
  const accountId = await addAccount('Busy')
  const account = 'SELECT 1 FROM provider_account WHERE provider_account_id = $1 FOR UPDATE'
  const release = await begin(account, accountId)
  const changes = [
    commands.run('provider', 'set', accountId, '--set', 'labels.PROVIDERP=PayPal'),
    commands.run('provider', 'set', accountId, '--set', 'types=PROVIDERP'),
    commands.run('provider', 'disable', accountId),
  ]
  await expectWaiting(gateway.databaseUrl, changes.length)
  await release()
  expect((await Promise.all(changes)).map(({ code }) => code)).toEqual([0, 0, 0])
  expect(await commands.json('provider', 'show', accountId)).toMatchObject({
    enabled: false,
    settings: { 'labels.PROVIDERP': 'PayPal', types: 'PROVIDERP' },
  })
  const acts = await listChanges(accountId, 'provider.')
  const made = acts
    .filter(({ act }) => act !== 'provider.add')
    .map(({ act, before, after }) => {
      const added = Object.keys(after.settings).filter(name => !(name in before.settings))
      return [act, before.enabled, after.enabled, ...added].slice(before.enabled === after.enabled ? 3 : 0)
    })
  expect(made.map(String).toSorted()).toEqual(['labels.PROVIDERP', 'provider.disable,true,false', 'types'])
  await commands.json('provider', 'remove', accountId)
})

test('changes of one merchant at the same moment all count, and the trail names what each has changed', async () => {
  const { merchantId: id } = await commands.json('merchant', 'create', '--name', 'Busy')
  const release = await begin('SELECT 1 FROM merchant WHERE merchant_id = $1 FOR UPDATE', id)
  const changes = [
    commands.run('merchant', 'set', id, '--theme-accent', '#0b5fff', '--name', 'Renamed'),
    commands.run('merchant', 'set', id, '--theme-font', 'serif', '--requests-per-second', '7'),
  ]
  await expectWaiting(gateway.databaseUrl, changes.length)
  await release()
  expect((await Promise.all(changes)).map(({ code }) => code)).toEqual([0, 0])
  const listed: AnyJson[] = await commands.json('merchant', 'list')
  expect(listed.find(({ merchantId }) => merchantId === id)).toMatchObject({
    name: 'Renamed',
    requestsPerSecond: 7,
    theme: { accent: '#0b5fff', font: 'serif' },
  })
  const named = (await listChanges(id, 'merchant.set')).map(({ after }) => Object.keys(after).join())
  expect(named.toSorted()).toEqual(['name,theme', 'requestsPerSecond,theme'])
})

test('422 a form that was shown before somebody else changed the account undoes nothing of theirs', async () => {
  const accountId = await addAccount('Shown', '--set', 'types=CARD')
  const address = at(`/accounts/${accountId}`)
  const formOf = async (answer: Response) =>
    readForms(mainOf(await answer.text())).find(({ action }) => action === address)?.fields ?? {}
  const [mine, theirs] = [await formOf(await owner.get(address)), await formOf(await owner.get(address))]
  const saved = await owner.post(address, { ...theirs, others: 'types=CARD,IDEAL\nlabels.IDEAL=iDEAL' })
  expect(saved.status).toBe(303)
  const refused = await owner.post(address, { ...mine, name: 'Renamed' })
  const page = await refused.text()
  expect([refused.status, page]).toEqual([422, expect.stringContaining('Somebody else has changed this')])
  expect(page).not.toContain('value="Renamed"')
  const shown = readForms(mainOf(page)).find(({ action }) => action === address)?.fields
  expect((await owner.post(address, { ...shown, name: 'Renamed' })).status).toBe(303)
  const settings = { types: 'CARD,IDEAL', 'labels.IDEAL': 'iDEAL' }
  expect(await commands.json('provider', 'show', accountId)).toMatchObject({ name: 'Renamed', settings })
  await commands.json('provider', 'remove', accountId)
})

test('422 an account or rule that somebody else removes at this moment', async () => {
  const accountId = await addAccount('Gone')
  await owner.post(at('/routes'), { accountId })
  const page = mainOf(await (await owner.get(at(''))).text())
  const ruleId = readForms(page).find(({ fields }) => 'ruleId' in fields)?.fields.ruleId ?? ''
  for (const [action, table, column, id, entries] of [
    ['/routes/remove', 'route_rule', 'rule_id::text', ruleId, { ruleId }],
    ['/switch', 'provider_account', 'provider_account_id', accountId, { accountId, enabled: 'no' }],
  ] as const) {
    const release = await begin(`DELETE FROM ${table} WHERE replace(${column}, '-', '') = $1`, id)
    const answer = owner.post(at(action), entries)
    await expectWaiting(gateway.databaseUrl)
    await release()
    const refused = await answer
    expect([refused.status, mainOf(await refused.text())]).toEqual([
      422,
      expect.stringMatching('[Tt]here is no'),
    ])
  }
})

test('a payment that is made just after its account was removed does not go there, and can be captured', async () => {
  const shop = await openShop(gateway)
  const words = ['--connector', 'simulator', '--name', 'Old']
  const { accountId } = await commands.json('provider', 'add', shop.merchantId, ...words)
  const removal = commands.run('provider', 'remove', accountId)
  const isThere = async () => {
    const account = 'SELECT 1 FROM provider_account WHERE provider_account_id = $1'
    return (await queryRows(gateway.databaseUrl, account, [accountId])).length > 0
  }
  // The gateway remembers the accounts of a merchant for a moment, and looks for them again and again here: often enough for
  // that, and not so often that the merchant's rate limit refuses the payment.
  while (await isThere()) {
    await shop.call('GET', '/payment-methods?currency=EUR&country=DEU')
    await pause(20)
  }
  const answers: TestAnswer[] = []
  await vi.waitUntil(async () => {
    answers.push(await shop.create('CARD', { captureMethod: { type: 'MANUAL' } }))
    return answers.at(-1)?.status === 200
  }, patience)
  expect((await removal).code).toBe(0)
  // Until the gateway has looked again, the account is disabled and the merchant has no other.
  const refused = answers.slice(0, -1).map(({ body }) => body.responseCode)
  expect(refused).toEqual(refused.map(() => '20200012'))
  const payId = answers.at(-1)?.body.payId
  const captured = await shop.act(payId, 'captures', 100)
  expect([captured.status, captured.body.responseCode]).toEqual([200, '00000000'])
  expect(await shop.read(payId)).not.toHaveProperty('provider')
})
